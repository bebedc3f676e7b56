import { ApiError, invalid } from '../../errors.ts'
import type { Operation } from '../../operation.ts'
import { endOfNumber, fieldAfter, isLost, startsNumber } from './exact-numbers.ts'

const MAX_DEPTH = 32
const MAX_FIELDS = 1000
const COMMA = 0x2c
const QUOTE = 0x22
const BACKSLASH = 0x5c
const OPEN_BRACE = 0x7b
const OPEN_BRACKET = 0x5b
const CLOSE_BRACE = 0x7d
const CLOSE_BRACKET = 0x5d

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** The body of the request. It is an empty object when the body is optional and absent. */
export function readBody(
  { body, bodyOptional }: Pick<Operation, 'body' | 'bodyOptional'>,
  bytes: Buffer | undefined,
): unknown {
  if (bytes === undefined || bytes.length === 0) {
    if (!body || bodyOptional) return {}
    throw badBody('The request needs a JSON body')
  }
  const value = parseJson(bytes)
  // Many clients send an empty object where they have nothing to say.
  if (!body && !isEmptyObject(value)) throw badBody('This request takes no body')
  return value
}

function isEmptyObject(value: unknown): boolean {
  return value !== null && typeof value === 'object' && !Array.isArray(value) && Object.keys(value).length === 0
}

/**
 * Parses strict JSON. Some bodies take long to parse and would be refused anyway, for example 400 000 nested arrays or
 * an object of 80 000 fields. They are refused by their bytes, before they are parsed.
 */
export function parseJson(bytes: Buffer): unknown {
  const lost = findLostNumber(bytes)
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
  // Only an escape can bring in a NUL or half a surrogate pair: the bytes are valid UTF-8, and JSON forbids raw control
  // characters.
  if (text.includes('\\u') || text.includes('__proto__')) refuseUnsafe(value)
  if (lost !== undefined) {
    const field = fieldAfter(bytes.toString('utf8', 0, lost))
    throw invalid({ field, error: 'is a number that cannot be kept exactly: send it as a text' })
  }
  return value
}

/**
 * How many commas each open object has so far; those of arrays are not counted. All bodies share one array, because a
 * new one costs more than most bodies do. That is safe: a body is scanned without a pause.
 */
const commas = new Float64Array(MAX_DEPTH + 1)

/** Refuses a body that is too deep or too wide. Returns where the first number begins that JavaScript would change. */
function findLostNumber(bytes: Buffer): number | undefined {
  let depth = 0
  let inString = false
  let lost: number | undefined
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i]
    if (inString) {
      if (byte === BACKSLASH) i++
      else if (byte === QUOTE) inString = false
    } else if (byte === QUOTE) {
      inString = true
    } else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
      if (++depth > MAX_DEPTH) throw badBody(`The body is nested deeper than ${MAX_DEPTH} levels`)
      commas[depth] = byte === OPEN_BRACE ? 0 : Number.NEGATIVE_INFINITY
    } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
      depth--
    } else if (byte === COMMA && depth > 0) {
      const count = (commas[depth] as number) + 1
      if (count >= MAX_FIELDS) throw badBody(`The body has an object of more than ${MAX_FIELDS} fields`)
      commas[depth] = count
    } else if (startsNumber(byte)) {
      const end = endOfNumber(bytes, i)
      if (lost === undefined && isLost(bytes, i, end)) lost = i
      i = end - 1
    }
  }
  return lost
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
