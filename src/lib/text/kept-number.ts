const NUMBER = /^(-?)(\d+)(?:\.(\d*))?(?:e([+-]?\d+))?$/i
const FEW_DIGITS = /^-?[\d.]{1,15}(?:e|$)/i
/** Computing with a longer number would take milliseconds. */
const MOST_CHARACTERS = 1_000

/**
 * Whether JavaScript reads the number without changing it. It would read 1e400 as infinity and 1e-400 as 0, and would
 * round a whole number with more than 15 digits. Digits after the decimal point don't matter, because a number that has
 * them isn't meant to be exact.
 */
export function isKept(text: string): boolean {
  if (text.length > MOST_CHARACTERS) return false
  const value = Number(text)
  // This isn't a number at all, which the JSON parser will report.
  if (Number.isNaN(value)) return true
  if (!Number.isFinite(value)) return false
  // Up to 15 digits are always kept, and only whole numbers beyond 2^53 are rounded to other whole numbers.
  if (value !== 0 && (FEW_DIGITS.test(text) || Number.isSafeInteger(value) || !Number.isInteger(value))) return true
  const given = scientific(text)
  if (value === 0) return given.digits === ''
  return given.exponent < 0 || isSame(given, scientific(String(value)))
}

type Scientific = { sign: string; digits: string; exponent: number }

/**
 * The digits without zeros at either end, and the power of ten by which to multiply them. If the power is below 0, the
 * number isn't whole.
 */
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
