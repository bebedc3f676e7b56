import { type RawBuilder, sql } from 'kysely'

/**
 * Durations are counted in buckets that grow with them: 64 for each doubling. The middle of a bucket is at most 1/128
 * off, and below 128 ms every millisecond has a bucket of its own. Histograms of several minutes or nodes can be added.
 */
const PER_DOUBLING = 64
const MAX_MS = 2 ** 31 - 1
const MOST_SHIFTS = 25

export function bucketOf(duration_ms: number): number {
  const ms = Math.max(0, Math.min(duration_ms, MAX_MS))
  const shift = Math.max(0, 25 - Math.clz32(ms))
  return shift * PER_DOUBLING + (ms >> shift)
}

/** The same of a column with milliseconds, for both engines. */
export function bucketInSql(column: string): RawBuilder<number> {
  const cases = Array.from({ length: MOST_SHIFTS }, (_, shift) => {
    const bucket = `${shift * PER_DOUBLING} + ${column} / ${2 ** shift}`
    return `when ${column} < ${2 ** (shift + 7)} then ${bucket}`
  })
  return sql.raw(`case ${cases.join(' ')} else ${bucketOf(MAX_MS)} end`)
}

/** The duration in the middle of a bucket. */
export function middleOf(bucket: number): number {
  const shift = Math.max(0, Math.floor(bucket / PER_DOUBLING) - 1)
  const width = 2 ** shift
  return (bucket - shift * PER_DOUBLING) * width + (width - 1) / 2
}
