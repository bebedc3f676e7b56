import type { IncomingMessage } from 'node:http'
import { invalid } from '../../errors.ts'

const QUALITY = /^q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/i
const KEY = /^[\x21-\x7e]{1,255}$/

/**
 * Whether the client prefers this type to JSON: its Accept header names the type and gives JSON no higher quality (RFC
 * 9110, 12.5.1). If the quality is equal, the type wins, because every client accepts JSON.
 */
export function prefers(accept: string | undefined, type: string): boolean {
  // Most requests don't name the type, so the header isn't parsed.
  if (!accept?.toLowerCase().includes(type)) return false
  const qualities = new Map(
    accept
      .toLowerCase()
      .split(',')
      .map((range) => range.split(';').map((part) => part.trim()))
      .map(([name = '', ...parameters]) => [name, qualityOf(parameters)]),
  )
  const wanted = qualities.get(type) ?? 0
  const json = ['application/json', 'application/*', '*/*'].find((range) => qualities.has(range)) ?? ''
  return wanted > 0 && wanted >= (qualities.get(json) ?? 0)
}

function qualityOf(parameters: readonly string[]): number {
  const given = parameters.map((parameter) => QUALITY.exec(parameter)?.[1]).find((quality) => quality !== undefined)
  return given === undefined ? 1 : Number(given)
}

/** The key in the header, or undefined. Quotes around it, as in the IETF draft, don't make a difference. */
export function readIdempotencyKey(message: Pick<IncomingMessage, 'headers' | 'headersDistinct'>): string | undefined {
  if (message.headers['idempotency-key'] === undefined) return undefined
  const values = message.headersDistinct['idempotency-key'] ?? []
  const field = 'Idempotency-Key'
  if (values.length > 1) throw invalid({ field, error: 'appears more than once' })
  const key = (values[0] as string).replace(/^"(.*)"$/, '$1')
  if (!KEY.test(key)) throw invalid({ field, error: 'must be 1 to 255 visible ASCII characters' })
  return key
}

/** Whether a client already has what it requests, according to its `If-None-Match`. */
export function isKnown(ifNoneMatch: string | undefined, etag: string): boolean {
  return ifNoneMatch?.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag || tag.trim() === '*') ?? false
}
