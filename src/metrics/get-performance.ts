import { AgentParams } from '../agents/agent.ts'
import * as agents from '../agents/store.ts'
import { operation } from '../operation.ts'
import { type Percentiles, PerformanceQuery, PerformanceReply, type Totals } from './metric.ts'
import { begunSteps, MINUTE_MS, rangeOf } from './range.ts'
import * as metrics from './store.ts'

export const getPerformance = operation({
  id: 'getPerformance',
  method: 'GET',
  path: '/v1/agents/{agent_id}/performance',
  summary: 'Get all metrics of an agent over time',
  description:
    "Returns requests, errors and response times per interval, for a dashboard. Intervals are the same as for single metrics. Intervals without invocations are included, except those that have not started yet. With a user token, only that user's invocations are counted.",
  access: { permission: 'read', userTokens: true },
  input: { params: AgentParams, query: PerformanceQuery },
  answer: { data: PerformanceReply },

  async run({ params, query }, { db, actor, now }) {
    const { seq } = await agents.get(db, params.agent_id)
    const time = now()
    const { granularity, ...range } = rangeOf(query, time)
    const [totals, percentiles] = await Promise.all([
      metrics.totals(db, seq, range, actor.scope),
      metrics.percentiles(db, seq, range, actor.scope),
    ])
    const buckets = begunSteps(range, totals, time).map((minute) => ({
      timestamp: minute * MINUTE_MS,
      ...performanceOf(totals.get(minute), percentiles.get(minute)),
    }))
    return { granularity, buckets }
  },
})

function performanceOf(totals: Totals | undefined, percentiles: Percentiles | undefined) {
  if (!totals) {
    return { requests: 0, errors: 0, avg_ms: null, p50_ms: null, p95_ms: null, p99_ms: null, max_ms: null }
  }
  const { count, errors, sum_ms, max_ms } = totals
  // The middle of the last bucket may lie above the longest duration.
  const at = (name: keyof Percentiles) => Math.min(percentiles?.[name] ?? 0, max_ms)
  return {
    requests: count,
    errors,
    avg_ms: sum_ms / count,
    p50_ms: at('p50'),
    p95_ms: at('p95'),
    p99_ms: at('p99'),
    max_ms,
  }
}
