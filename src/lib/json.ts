export type Json = null | boolean | number | string | Json[] | { [key: string]: Json }

/**
 * Parses a text that should be JSON. Returns undefined if it isn't, because the parser's own error quotes the text,
 * which may contain secrets.
 */
export function parseIfJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Whether the value is an object but not a list. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Whether lists and objects are nested more than `most` levels deep. */
export function isDeeper(value: unknown, most: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return most <= 0 || Object.values(value).some((inner) => isDeeper(inner, most - 1))
}

/**
 * JSON for other servers. A text that was cut can end with half a character. JSON writes it as an escape, which is
 * otherwise rare, and which many servers and PostgreSQL refuse. So it is replaced.
 */
export function wellFormedJson(value: unknown): string {
  const json = JSON.stringify(value)
  if (!json.includes('\\ud')) return json
  return JSON.stringify(value, (_key, inner: unknown) => (typeof inner === 'string' ? inner.toWellFormed() : inner))
}

/** JSON that is the same for equal values, no matter how their keys are ordered. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) => {
    if (!isObject(inner)) return inner
    return Object.fromEntries(Object.entries(inner).toSorted(([a], [b]) => (a < b ? -1 : 1)))
  })
}
