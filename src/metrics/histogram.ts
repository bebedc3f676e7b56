/**
 * Durations are counted in buckets that grow with them: 64 for each doubling. The middle of a bucket is at most 1/128
 * off, and below 128 ms every millisecond has a bucket of its own. Histograms of several minutes or nodes can be added.
 */
const PER_DOUBLING = 64
const MAX_MS = 2 ** 31 - 1

export function bucketOf(duration_ms: number): number {
  const ms = Math.max(0, Math.min(duration_ms, MAX_MS))
  const shift = Math.max(0, 25 - Math.clz32(ms))
  return shift * PER_DOUBLING + (ms >> shift)
}

function middleOf(bucket: number): number {
  const shift = Math.max(0, Math.floor(bucket / PER_DOUBLING) - 1)
  const width = 2 ** shift
  return (bucket - shift * PER_DOUBLING) * width + (width - 1) / 2
}

export type Histogram = { bucket: number; count: number }[]

/** The duration that `percent` of all did not exceed (nearest rank). `buckets` must be in ascending order. */
export function percentile(buckets: Histogram, percent: number): number {
  const total = buckets.reduce((sum, { count }) => sum + count, 0)
  const rank = Math.ceil((percent * total) / 100)
  let passed = 0
  for (const { bucket, count } of buckets) {
    passed += count
    if (passed >= rank) return middleOf(bucket)
  }
  return 0
}
