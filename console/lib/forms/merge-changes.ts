/** A value that was changed both by the reader in the form and by another person in the meantime. */
export type Clash = { field: string; theirs: unknown }

type MergeResult<Of> = {
  /** The current record with the reader's changes. */
  value: Of
  clashes: Clash[]
  /**
   * What the reader started with. For clashes, it contains the current values, because the reader has now seen them.
   */
  began: Of
}

/**
 * Applies the reader's changes to the current record. Objects are compared field by field. Everything else is one
 * value, including lists. If both have changed the same value, `value` contains the reader's, and the clash is
 * reported.
 */
export function mergeChanges<Of>(began: Of, wanted: Of, now: Of): MergeResult<Of> {
  const clashes: Clash[] = []
  const merged = merge({ began, wanted, now }, [], clashes)
  return { value: merged.value as Of, began: merged.began as Of, clashes }
}

type Three = { began: unknown; wanted: unknown; now: unknown }

function merge({ began, wanted, now }: Three, path: string[], clashes: Clash[]): { value: unknown; began: unknown } {
  if (isSame(began, wanted)) return { value: now, began }
  if (isSame(began, now) || isSame(wanted, now)) return { value: wanted, began }
  if (isObject(began) && isObject(wanted) && isObject(now)) {
    const fields = [...new Set([began, wanted, now].flatMap(Object.keys))].map((name) => {
      const inside = { began: began[name], wanted: wanted[name], now: now[name] }
      return [name, merge(inside, [...path, name], clashes)] as const
    })
    const all = (part: 'value' | 'began') =>
      Object.fromEntries(fields.flatMap(([name, merged]) => (merged[part] === undefined ? [] : [[name, merged[part]]])))
    return { value: all('value'), began: all('began') }
  }
  clashes.push({ field: path.join('.'), theirs: now })
  return { value: wanted, began: now }
}

/** The fields of `after` that differ from `before`. */
export function changedFields<Of extends object>(before: Of, after: Of): Partial<Of> {
  const changed = Object.entries(after).filter(([name, value]) => !isSame(value, before[name as keyof Of]))
  return Object.fromEntries(changed) as Partial<Of>
}

/** Whether two values are the same JSON. The order of fields doesn't matter. */
export function isSame(a: unknown, b: unknown): boolean {
  if (a === b) return true
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((item, i) => isSame(item, b[i]))
  if (!isObject(a) || !isObject(b)) return false
  return [...new Set([a, b].flatMap(Object.keys))].every((name) => isSame(a[name], b[name]))
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
