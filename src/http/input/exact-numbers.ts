import { isKept } from '../../lib/text/kept-number.ts'

const TOKEN = /"(?:[^"\\]|\\.)*"|[[\]{},]/g
const PLUS = 0x2b
const MINUS = 0x2d
const POINT = 0x2e
const ZERO = 0x30
const NINE = 0x39
const LARGE_E = 0x45
const SMALL_E = 0x65
/** JavaScript keeps every number of this length: 15 digits without an exponent, or 1e99 with one. */
const SURE_CHARACTERS = 15
const SURE_WITH_EXPONENT = 4
/** Below this length a number without an exponent that is not 0 is neither infinite nor rounded to 0. */
const SURE_NOT_ZERO = 300

/** The position after the last character that can belong to the number. */
export function endOfNumber(bytes: Buffer, start: number): number {
  let end = start + 1
  while (isOfNumber(bytes[end])) end++
  return end
}

/** Whether JavaScript would change the number in these bytes. For most numbers the length is enough to decide. */
export function isLost(bytes: Buffer, start: number, end: number): boolean {
  const length = end - start
  if (length <= SURE_WITH_EXPONENT) return false
  if (hasExponent(bytes, start, end)) return !isKept(bytes.toString('latin1', start, end))
  if (length <= SURE_CHARACTERS || (length < SURE_NOT_ZERO && endsInFraction(bytes, start, end))) return false
  return !isKept(bytes.toString('latin1', start, end))
}

/** The field at which the given beginning of a JSON text stops, as a path of names and indexes: `context.amounts.2`. */
export function fieldAfter(json: string): string {
  const path: (string | number)[] = []
  for (const [token] of json.matchAll(TOKEN)) {
    const last = path.at(-1)
    if (token === '{') path.push('')
    else if (token === '[') path.push(0)
    else if (token === '}' || token === ']') path.pop()
    else if (token !== ',') {
      if (typeof last === 'string') path[path.length - 1] = JSON.parse(token) as string
    } else if (typeof last === 'number') path[path.length - 1] = last + 1
  }
  return path.join('.') || '(body)'
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= ZERO && byte <= NINE
}

function isOfNumber(byte: number | undefined): boolean {
  return isDigit(byte) || byte === POINT || isExponent(byte) || byte === PLUS || byte === MINUS
}

function isExponent(byte: number | undefined): boolean {
  return byte === SMALL_E || byte === LARGE_E
}

/** Whether the last digit is not 0 and stands after the point: such a number is not whole. */
function endsInFraction(bytes: Buffer, start: number, end: number): boolean {
  const last = bytes[end - 1]
  return isDigit(last) && last !== ZERO && bytes.subarray(start, end).includes(POINT)
}

function hasExponent(bytes: Buffer, start: number, end: number): boolean {
  for (let i = start; i < end; i++) if (isExponent(bytes[i])) return true
  return false
}
