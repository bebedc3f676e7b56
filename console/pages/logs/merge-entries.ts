import type { LogEntry } from '../../../sdk/client.ts'

/**
 * Adds entries to those that are known, oldest first. Entries have no id, and the same may be read twice: equal ones
 * are counted on both sides. An entry is stored when its run ends, so a new one may be older than a known one.
 */
export function mergeEntries(known: LogEntry[], read: LogEntry[]): LogEntry[] {
  const [from = '', to = ''] = [read[0]?.timestamp, read.at(-1)?.timestamp]
  if (read.length === 0) return known
  // Only what is as old as the entries that were read is compared with them.
  const first = known.findLastIndex(({ timestamp }) => timestamp < from) + 1
  const after = known.findIndex(({ timestamp }, i) => i >= first && timestamp > to)
  const end = after < 0 ? known.length : after
  const merged = mergeAll(known.slice(first, end), read)
  return merged.length === end - first ? known : [...known.slice(0, first), ...merged, ...known.slice(end)]
}

function mergeAll(known: LogEntry[], read: LogEntry[]): LogEntry[] {
  const counts = new Map<string, number>()
  for (const entry of known) counts.set(keyOf(entry), (counts.get(keyOf(entry)) ?? 0) + 1)
  const fresh = read.filter((entry) => {
    const left = counts.get(keyOf(entry)) ?? 0
    counts.set(keyOf(entry), left - 1)
    return left <= 0
  })
  if (fresh.length === 0) return known
  return [...known, ...fresh].toSorted((a, b) => (a.timestamp < b.timestamp ? -1 : Number(a.timestamp > b.timestamp)))
}

export function keyOf({ timestamp, message, metadata }: LogEntry): string {
  return `${timestamp} ${metadata.request_id} ${message}`
}
