import { type ApiError, badRequest } from '../../errors.ts'
import { endOfNumber, isLost, startsNumber } from './exact-numbers.ts'

const MAX_DEPTH = 32
const MAX_FIELDS = 1_000
const COMMA = 0x2c
const QUOTE = 0x22
const BACKSLASH = 0x5c
const OPEN_BRACE = 0x7b
const OPEN_BRACKET = 0x5b
const CLOSE_BRACE = 0x7d
const CLOSE_BRACKET = 0x5d

/** How much a body may hold: values of every kind together, nested ones included, and elements in one list. */
export type JsonLimits = { values: number; elements: number }

/** A body of this size is parsed, checked and stored in less than 50 ms. */
export const BODY_LIMITS: JsonLimits = { values: 20_000, elements: 10_000 }

/** The SDKs of protocols need a quarter of a millisecond for some wrong values, and do not stop at the first one. */
export const PROTOCOL_LIMITS: JsonLimits = { values: 1_000, elements: 100 }

/**
 * What is open at each depth, and how many elements or fields may still follow there. All bodies share these arrays,
 * because new ones cost more than most bodies do. That is safe: a body is scanned without a pause.
 */
const opened = new Uint8Array(MAX_DEPTH + 1)
const left = new Int32Array(MAX_DEPTH + 1)

/**
 * Refuses a body that is too deep, too wide or holds too many values. Returns where the first number begins that
 * JavaScript would change.
 */
export function scanJson(bytes: Buffer, limits: JsonLimits): number | undefined {
  let depth = 0
  let values = 1
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
      if (++depth > MAX_DEPTH) throw badRequest(`The body is nested deeper than ${MAX_DEPTH} levels`)
      if (++values > limits.values) throw tooManyValues(limits)
      opened[depth] = byte
      left[depth] = byte === OPEN_BRACE ? MAX_FIELDS : limits.elements
    } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
      // An empty object or list has no value in it.
      if (bytes[i - 1] === opened[depth]) values--
      depth--
    } else if (byte === COMMA && depth > 0) {
      if (++values > limits.values) throw tooManyValues(limits)
      left[depth] = (left[depth] as number) - 1
      if (left[depth] === 0) throw tooWide(opened[depth] === OPEN_BRACE, limits)
    } else if (startsNumber(byte)) {
      const end = endOfNumber(bytes, i)
      if (lost === undefined && isLost(bytes, i, end)) lost = i
      i = end - 1
    }
  }
  return lost
}

function tooManyValues({ values }: JsonLimits): ApiError {
  return badRequest(`The body holds more than ${values} values, nested ones included`)
}

function tooWide(isObject: boolean, { elements }: JsonLimits): ApiError {
  return badRequest(
    isObject
      ? `The body has an object of more than ${MAX_FIELDS} fields`
      : `The body has a list of more than ${elements} elements`,
  )
}
