import type { IncomingMessage } from 'node:http'
import { invalid } from '../../errors.ts'

const KEY = /^[\x21-\x7e]{1,255}$/

/** The key in the header, or undefined. Quotes around it, as in the IETF draft, do not make it another key. */
export function readIdempotencyKey(message: Pick<IncomingMessage, 'headers' | 'headersDistinct'>): string | undefined {
  if (message.headers['idempotency-key'] === undefined) return undefined
  const values = message.headersDistinct['idempotency-key'] ?? []
  const field = 'Idempotency-Key'
  if (values.length > 1) throw invalid({ field, error: 'is given more than once' })
  const key = (values[0] as string).replace(/^"(.*)"$/, '$1')
  if (!KEY.test(key)) throw invalid({ field, error: 'must be 1 to 255 visible ASCII characters' })
  return key
}
