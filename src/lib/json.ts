export type Json = null | boolean | number | string | Json[] | { [key: string]: Json }

/**
 * The value of a text that should be JSON. Undefined if it is not: the parser's own error quotes the text, which may hold
 * secrets.
 */
export function parseIfJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Whether it is an object, and no list. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Whether lists and objects are nested more than `most` levels deep. */
export function isDeeper(value: unknown, most: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return most <= 0 || Object.values(value).some((inner) => isDeeper(inner, most - 1))
}

/** The same text for equal values, whatever the order of their keys. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) => {
    if (!isObject(inner)) return inner
    return Object.fromEntries(Object.entries(inner).toSorted(([a], [b]) => (a < b ? -1 : 1)))
  })
}
