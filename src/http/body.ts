import { ApiError } from '../errors.ts'
import type { Operation } from '../operation.ts'

const MAX_DEPTH = 32
const QUOTE = 0x22
const BACKSLASH = 0x5c
const OPEN_BRACE = 0x7b
const OPEN_BRACKET = 0x5b
const CLOSE_BRACE = 0x7d
const CLOSE_BRACKET = 0x5d

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** What the operation gets: an empty object where a body is absent and may be. */
export function readBody({ body, bodyOptional }: Operation, bytes: Buffer | undefined): unknown {
  if (bytes === undefined || bytes.length === 0) {
    if (!body || bodyOptional) return {}
    throw badBody('The request needs a JSON body')
  }
  const value = parseJson(bytes)
  if (!body) throw badBody('This request takes no body')
  return value
}

/** Strict JSON from bytes. Depth is judged on the bytes: parsing 400 000 nested arrays is slow before it fails. */
function parseJson(bytes: Uint8Array): unknown {
  if (isTooDeep(bytes)) throw badBody(`The body is nested deeper than ${MAX_DEPTH} levels`)
  let text: string
  try {
    text = utf8.decode(bytes)
  } catch {
    throw badBody('The body is not valid UTF-8')
  }
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw badBody('The body is not valid JSON')
  }
  // Only an escape can bring in a NUL or half a surrogate pair: the bytes were valid UTF-8, and JSON forbids raw controls.
  if (text.includes('\\u') || text.includes('__proto__')) refuseUnsafe(value)
  return value
}

function isTooDeep(bytes: Uint8Array): boolean {
  let depth = 0
  let inString = false
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i]
    if (inString) {
      if (byte === BACKSLASH) i++
      else if (byte === QUOTE) inString = false
    } else if (byte === QUOTE) {
      inString = true
    } else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
      if (++depth > MAX_DEPTH) return true
    } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
      depth--
    }
  }
  return false
}

function refuseUnsafe(value: unknown): void {
  if (typeof value === 'string') {
    if (value.includes('\0')) throw badBody('The body holds the character U+0000, which cannot be stored')
    if (!value.isWellFormed()) throw badBody('The body holds half a surrogate pair, which is not a character')
  } else if (value !== null && typeof value === 'object') {
    for (const [key, inner] of Object.entries(value)) {
      if (key === '__proto__') throw badBody('The body holds a field named __proto__')
      refuseUnsafe(key)
      refuseUnsafe(inner)
    }
  }
}

function badBody(message: string): ApiError {
  return new ApiError('invalid_request', message)
}
