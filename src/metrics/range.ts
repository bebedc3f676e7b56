import { invalid } from '../errors.ts'
import { GRANULARITIES, type Granularity } from './metric.ts'

export const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const MAX_VALUES = 3000

/** Minutes since the epoch, with `to` excluded. Both are multiples of `step`. */
export type Range = { from: number; to: number; step: number }

type RangeQuery = {
  start_time?: number | undefined
  end_time?: number | undefined
  granularity?: Granularity | undefined
}

/** The whole buckets that overlap the wanted range. */
export function rangeOf(wanted: RangeQuery, now: number): Range & { granularity: Granularity } {
  const { end_time = now, start_time = end_time - HOUR_MS } = wanted
  if (start_time >= end_time) {
    if (wanted.end_time === undefined) throw invalid({ field: 'start_time', error: 'must be in the past' })
    throw invalid({ field: 'end_time', error: 'must be later than start_time' })
  }
  const granularity = wanted.granularity ?? granularityFor(end_time - start_time)
  const step = GRANULARITIES[granularity]
  const from = Math.floor(start_time / MINUTE_MS / step) * step
  const to = Math.ceil(end_time / MINUTE_MS / step) * step
  const count = (to - from) / step
  if (count > MAX_VALUES) {
    const field = wanted.granularity === undefined ? 'start_time' : 'granularity'
    throw invalid({
      field,
      error: `the range contains ${count} intervals of ${granularity}; the maximum is ${MAX_VALUES}. Choose a shorter range or a larger granularity`,
    })
  }
  return { granularity, from, to, step }
}

/** Chooses a granularity that gives a few hundred values for any range. */
function granularityFor(rangeMs: number): Granularity {
  if (rangeMs <= 6 * HOUR_MS) return '1m'
  if (rangeMs <= 48 * HOUR_MS) return '5m'
  return rangeMs <= 60 * 24 * HOUR_MS ? '1h' : '1d'
}

/**
 * The first minute of each bucket that has begun. A bucket with something counted has begun: the clock of the node that
 * counted may be ahead of ours.
 */
export function begunSteps({ from, to, step }: Range, counted: ReadonlyMap<number, unknown>, now: number): number[] {
  const steps = Array.from({ length: (to - from) / step }, (_, i) => from + i * step)
  return steps.filter((minute) => counted.has(minute) || minute * MINUTE_MS <= now)
}
