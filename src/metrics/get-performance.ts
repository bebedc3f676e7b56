import { AgentParams } from '../agents/agent.ts'
import * as agents from '../agents/store.ts'
import { operation } from '../operation.ts'
import { usdOf } from '../runtime/models/usage.ts'
import {
  meanScore,
  type Percentiles,
  PerformanceQuery,
  PerformanceReply,
  type Rated,
  type Spent,
  type Totals,
} from './metric.ts'
import { begunSteps, MINUTE_MS, rangeOf } from './range.ts'
import * as metrics from './store.ts'

export const getPerformance = operation({
  id: 'getPerformance',
  method: 'GET',
  path: '/v1/agents/{agent_id}/performance',
  summary: 'Get all metrics of an agent over time',
  description:
    "Returns requests, errors, response times, tokens, cost and feedback per interval, for a dashboard. With `environment`, `version` or `deployment_id`, only matching invocations are counted. Intervals are the same as for single metrics. Intervals without invocations are included, except those that have not started yet. With a user token, only that user's invocations are counted.",
  access: { permission: 'read', userTokens: true },
  input: { params: AgentParams, query: PerformanceQuery },
  answer: { data: PerformanceReply },

  async run({ params, query }, { db, actor, now }) {
    const { seq } = await agents.get(db, params.agent_id)
    const time = now()
    const { granularity, ...range } = rangeOf(query, time)
    const { environment, version, deployment_id } = query
    const whose = { user_id: actor.scope.user_id, environment, version, deployment_id }
    const [totals, percentiles, spending, feedback] = await Promise.all([
      metrics.totals(db, seq, range, whose),
      metrics.percentiles(db, seq, range, whose),
      metrics.spending(db, seq, range, whose),
      metrics.feedback(db, seq, range, whose),
    ])
    const counted = new Map<number, unknown>([...totals, ...feedback])
    const buckets = begunSteps(range, counted, time).map((minute) => ({
      timestamp: minute * MINUTE_MS,
      ...durationsOf(totals.get(minute), percentiles.get(minute)),
      ...spentOf(spending.get(minute)),
      ...ratedOf(feedback.get(minute)),
    }))
    return { granularity, buckets }
  },
})

function durationsOf(totals: Totals | undefined, percentiles: Percentiles | undefined) {
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

function spentOf({ tokens, cost_nano, unpriced }: Omit<Spent, 'count'> = { tokens: 0, cost_nano: 0, unpriced: 0 }) {
  return { tokens, cost_usd: usdOf(cost_nano) ?? 0, unpriced }
}

function ratedOf(rated: Rated | undefined) {
  if (!rated) return { feedback: 0, avg_score: null }
  return { feedback: rated.count, avg_score: meanScore(rated) }
}
