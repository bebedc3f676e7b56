/** Matches a decimal number as people and programs write it. `Number` accepts more, such as `0x1f` and a space. */
const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i

/**
 * The number that was typed, or null if the field is empty. Text that isn't a number is sent unchanged. The service
 * refuses it, and the reason is shown next to the field.
 */
export function numberIn(text: string): number | null {
  const typed = text.trim()
  if (typed === '') return null
  const number = Number(typed)
  return NUMBER.test(typed) && Number.isFinite(number) ? number : (typed as unknown as number)
}

/** The JSON that was typed. Text that isn't JSON is also sent unchanged. */
export function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return text
  }
}

/** Why the text isn't JSON. Undefined if it is. */
export function jsonProblem(text: string): string | undefined {
  try {
    JSON.parse(text)
    return undefined
  } catch (error) {
    return `is not valid JSON: ${(error as Error).message}`
  }
}

/** Reads names that are separated by commas. */
export function namesIn(text: string): string[] {
  return text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')
}
