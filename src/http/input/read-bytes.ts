import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { Config } from '../../config.ts'
import { ApiError } from '../../errors.ts'
import { within } from '../../lib/work/within.ts'

export function hasBody(headers: IncomingHttpHeaders): boolean {
  return headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0'
}

/** Whether the body of such a request is read. */
export function readsBody({ method }: IncomingMessage): boolean {
  return method !== 'GET' && method !== 'HEAD' && method !== 'OPTIONS'
}

/** How large a body may be, and how long it may take to arrive. */
export type BodyLimits = { limits: Pick<Config['limits'], 'body'>; server: Pick<Config['server'], 'requestTimeout'> }

/** The bytes of a request's body. Undefined when it has none, and for a GET. */
export async function readBytes(
  message: IncomingMessage,
  { limits: { body: limit }, server: { requestTimeout: timeoutMs } }: BodyLimits,
): Promise<Buffer | undefined> {
  const { headers } = message
  if (!readsBody(message) || !hasBody(headers)) return undefined
  if (headers['content-type'] === undefined) {
    throw new ApiError('unsupported_media_type', 'Send the body as application/json')
  }
  if (Number(headers['content-length'] ?? 0) > limit) throw tooLarge(limit)
  if (!message.complete) return within(timeoutMs, gather(message, limit), tooSlow)
  if (message.readableLength > limit) throw tooLarge(limit)
  const chunks: Buffer[] = []
  while (message.readableLength > 0) chunks.push(message.read() as Buffer)
  return chunks.length === 1 ? chunks[0] : Buffer.concat(chunks)
}

function gather(message: IncomingMessage, limit: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    const take = (chunk: Buffer) => {
      size += chunk.length
      chunks.push(chunk)
      if (size <= limit) return
      message.off('data', take)
      reject(tooLarge(limit))
    }
    message.on('data', take)
    message.once('end', () => resolve(Buffer.concat(chunks)))
    message.once('error', reject)
    // A client that left before we listened is not reported again.
    if (message.destroyed) reject(message.errored ?? new ApiError('request_timeout', 'The request was cut off'))
  })
}

export function tooSlow(): ApiError {
  return new ApiError('request_timeout', 'The request took too long to arrive')
}

function tooLarge(limit: number): ApiError {
  return new ApiError('payload_too_large', `The body may have ${limit} bytes (limits.body): upload larger files first`)
}
