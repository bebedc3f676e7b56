import { ApiError, badRequest, invalid } from '../../errors.ts'
import { isObject, parseIfJson } from '../../lib/json.ts'
import type { Operation } from '../../operation.ts'
import { fieldAfter } from './exact-numbers.ts'
import { BODY_LIMITS, type JsonLimits, scanJson } from './scan-json.ts'

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** The body is no JSON at all. */
export class BrokenJson extends ApiError {
  constructor(message: string) {
    super('invalid_request', message)
  }
}

/** The body of the request. It is an empty object when the body is optional and absent. */
export function readBody(
  { body, bodyOptional }: Pick<Operation, 'body' | 'bodyOptional'>,
  bytes: Buffer | undefined,
): unknown {
  if (bytes === undefined || bytes.length === 0) {
    if (!body || bodyOptional) return {}
    throw badRequest('The request needs a JSON body')
  }
  const value = parseJson(bytes)
  // Many clients send an empty object where they have nothing to say.
  if (!body && !(isObject(value) && Object.keys(value).length === 0)) throw badRequest('This request takes no body')
  return value
}

/**
 * Parses strict JSON. Some bodies take long to parse or to check and would be refused anyway, for example 400 000 nested
 * arrays or a list of 300 000 objects. They are refused by their bytes, before they are parsed.
 */
export function parseJson(bytes: Buffer, limits: JsonLimits = BODY_LIMITS): unknown {
  const lost = scanJson(bytes, limits)
  let text: string
  try {
    text = utf8.decode(bytes)
  } catch {
    throw new BrokenJson('The body is not valid UTF-8')
  }
  const value = parseIfJson(text)
  if (value === undefined) throw new BrokenJson('The body is not valid JSON')
  // Only an escape can bring in a NUL or half a surrogate pair: the bytes are valid UTF-8, and JSON forbids raw control
  // characters.
  if (text.includes('\\u') || text.includes('__proto__')) refuseUnsafe(value)
  if (lost !== undefined) {
    const field = fieldAfter(bytes.toString('utf8', 0, lost))
    throw invalid({ field, error: 'is a number that cannot be kept exactly: send it as a text' })
  }
  return value
}

function refuseUnsafe(value: unknown): void {
  if (typeof value === 'string') {
    if (value.includes('\0')) throw badRequest('The body holds the character U+0000, which cannot be stored')
    if (!value.isWellFormed()) throw badRequest('The body holds half a surrogate pair, which is not a character')
  } else if (value !== null && typeof value === 'object') {
    for (const [key, inner] of Object.entries(value)) {
      if (key === '__proto__') throw badRequest('The body holds a field named __proto__')
      refuseUnsafe(key)
      refuseUnsafe(inner)
    }
  }
}
