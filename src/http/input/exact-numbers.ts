const TOKEN = /"(?:[^"\\]|\\.)*"|[[\]{},]/g
const NUMBER = /^(-?)(\d+)(?:\.(\d*))?(?:e([+-]?\d+))?$/i
const PLUS = 0x2b
const MINUS = 0x2d
const POINT = 0x2e
const ZERO = 0x30
const NINE = 0x39
const LARGE_E = 0x45
const SMALL_E = 0x65
/** No number of so many characters is lost: 15 digits are kept, and so is 1e99. */
const SURE_CHARACTERS = 15
const SURE_WITH_EXPONENT = 4

export function startsNumber(byte: number | undefined): boolean {
  return byte === MINUS || isDigit(byte)
}

/** Behind the last character that can belong to the number. */
export function endOfNumber(bytes: Buffer, start: number): number {
  let end = start + 1
  while (isOfNumber(bytes[end])) end++
  return end
}

/** Whether the number in these bytes would not stay what it is. Most are told by their length. */
export function isLost(bytes: Buffer, start: number, end: number): boolean {
  const length = end - start
  if (length <= SURE_WITH_EXPONENT) return false
  if (length <= SURE_CHARACTERS && !hasExponent(bytes, start, end)) return false
  return !isKept(bytes.toString('latin1', start, end))
}

/**
 * JavaScript would make `null` of 1e400, 0 of 1e-400, and round a whole number of more than 15 digits. Digits behind the
 * point are not counted: what has them is not meant to be exact.
 */
function isKept(text: string): boolean {
  const value = Number(text)
  // It is no number at all: the JSON parser says so.
  if (Number.isNaN(value)) return true
  if (!Number.isFinite(value)) return false
  const given = scientific(text)
  if (value === 0) return given.digits === ''
  return given.exponent < 0 || isSame(given, scientific(String(value)))
}

type Scientific = { sign: string; digits: string; exponent: number }

/** Digits without zeros at either end, and the power of ten that they are multiplied by: below 0 for no whole number. */
function scientific(text: string): Scientific {
  const [, sign = '', whole = '', fraction = '', power = '0'] = NUMBER.exec(text) ?? []
  const all = `${whole}${fraction}`
  let end = all.length
  while (all[end - 1] === '0') end--
  const digits = all.slice(0, end)
  const exponent = Number(power) - fraction.length + (all.length - digits.length)
  return { sign, digits: digits.replace(/^0+/, ''), exponent }
}

function isSame(a: Scientific, b: Scientific): boolean {
  return a.sign === b.sign && a.digits === b.digits && a.exponent === b.exponent
}

/** Where JSON that begins so goes on, as a path of fields and places: `context.amounts.2`. */
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

function hasExponent(bytes: Buffer, start: number, end: number): boolean {
  for (let i = start; i < end; i++) if (isExponent(bytes[i])) return true
  return false
}
