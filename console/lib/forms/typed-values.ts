/** A decimal number, as people and programs write it. `Number` reads more than that, such as `0x1f` and a space. */
const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i

/**
 * The number that was typed, or null if nothing was. Text that is no number is sent as it is: the service refuses it, and
 * says so beside the field.
 */
export function numberIn(text: string): number | null {
  const typed = text.trim()
  if (typed === '') return null
  const number = Number(typed)
  return NUMBER.test(typed) && Number.isFinite(number) ? number : (typed as unknown as number)
}

/** The JSON that was typed. Text that is no JSON is sent as it is, too. */
export function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return text
  }
}

/** Why the text is no JSON; undefined if it is. */
export function jsonProblem(text: string): string | undefined {
  try {
    JSON.parse(text)
    return undefined
  } catch (error) {
    return `is not valid JSON: ${(error as Error).message}`
  }
}

/** Names with commas between them. */
export function namesIn(text: string): string[] {
  return text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')
}
