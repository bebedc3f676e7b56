import { AgentParams } from '../agents/agent.ts'
import * as agents from '../agents/store.ts'
import { invalid } from '../errors.ts'
import { operation } from '../operation.ts'
import { percentile } from './histogram.ts'
import { GRANULARITIES, type Granularity, MetricSeries, MetricsQuery, UNIT_OF } from './metric.ts'
import * as metrics from './store.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const MAX_VALUES = 3000

export const getMetrics = operation({
  id: 'getMetrics',
  method: 'GET',
  path: '/v1/agents/{agent_id}/metrics',
  summary: 'Get a metric of an agent over time',
  description:
    'Counts invocations that completed or failed, in the bucket in which they ended. Buckets are aligned to the epoch in UTC and whole: `start_time` is rounded down and `end_time` up to the granularity. In a bucket without an invocation the throughput is 0; it has no response time and no error rate, and is left out.',
  permission: 'read',
  userTokens: true,
  params: AgentParams,
  query: MetricsQuery,
  data: MetricSeries,

  async run({ params, query }, { db, now }) {
    const { metric } = query
    const { seq } = await agents.get(db, params.agent_id)
    const time = now()
    const { granularity, ...range } = rangeOf(query, time)
    const totals = await metrics.totals(db, seq, range)
    const at = (minute: number, value: number) => ({ timestamp: minute * MINUTE_MS, value, unit: UNIT_OF[metric] })

    if (metric === 'throughput') {
      const values = steps(range)
        // Minutes that have not begun yet are left out.
        .filter((minute) => totals.has(minute) || minute * MINUTE_MS <= time)
        .map((minute) => at(minute, (totals.get(minute)?.count ?? 0) / range.step))
      return { metric, granularity, values }
    }
    const counted = [...totals].toSorted(([a], [b]) => a - b)
    if (metric === 'error_rate') {
      const values = counted.map(([minute, { errors, count }]) => at(minute, (errors / count) * 100))
      return { metric, granularity, values }
    }
    const { aggregation = 'avg' } = query
    if (aggregation === 'avg' || aggregation === 'max') {
      const values = counted.map(([minute, { sum_ms, count, max_ms }]) =>
        at(minute, aggregation === 'max' ? max_ms : sum_ms / count),
      )
      return { metric, granularity, aggregation, values }
    }
    const histograms = await metrics.histograms(db, seq, range)
    const values = counted.map(([minute, { max_ms }]) =>
      at(minute, Math.min(percentile(histograms.get(minute) ?? [], Number(aggregation.slice(1))), max_ms)),
    )
    return { metric, granularity, aggregation, values }
  },
})

type Wanted = { start_time?: number | undefined; end_time?: number | undefined; granularity?: Granularity | undefined }

/** The whole buckets that overlap the wanted range. */
function rangeOf(wanted: Wanted, now: number): metrics.Range & { granularity: Granularity } {
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
      error: `the range has ${count} buckets of ${granularity}, at most ${MAX_VALUES} are served`,
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

function steps({ from, to, step }: metrics.Range): number[] {
  return Array.from({ length: (to - from) / step }, (_, i) => from + i * step)
}
