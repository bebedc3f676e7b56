import type { LogEntry } from '../../../sdk/client.ts'

/**
 * Adds entries to the known ones, oldest first. The same entry may be read twice. An entry is stored when its run ends,
 * so a new one may be older than a known one. Among entries of the same millisecond, those of an older page come first.
 */
export function mergeEntries(known: LogEntry[], read: LogEntry[], { isOlder = false } = {}): LogEntry[] {
  const ordered = read.toSorted(byTime)
  const [from, to] = [ordered[0]?.timestamp, ordered.at(-1)?.timestamp]
  if (from === undefined || to === undefined) return known
  // Only known entries that are as old as the new ones are compared with them.
  const first = known.findLastIndex(({ timestamp }) => timestamp < from) + 1
  const after = known.findIndex(({ timestamp }, i) => i >= first && timestamp > to)
  const end = after < 0 ? known.length : after
  const near = known.slice(first, end)
  const ids = new Set(near.map(({ id }) => id))
  const fresh = ordered.filter(({ id }) => !ids.has(id))
  if (fresh.length === 0) return known
  const all = isOlder ? [...fresh, ...near] : [...near, ...fresh]
  return [...known.slice(0, first), ...all.toSorted(byTime), ...known.slice(end)]
}

function byTime(a: LogEntry, b: LogEntry): number {
  return a.timestamp < b.timestamp ? -1 : Number(a.timestamp > b.timestamp)
}
