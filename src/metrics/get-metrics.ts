import { AgentParams } from '../agents/agent.ts'
import * as agents from '../agents/store.ts'
import { operation } from '../operation.ts'
import { usdOf } from '../runtime/models/usage.ts'
import { MetricSeries, MetricsQuery, meanScore, UNIT_OF } from './metric.ts'
import { begunSteps, MINUTE_MS, rangeOf } from './range.ts'
import * as metrics from './store.ts'

export const getMetrics = operation({
  id: 'getMetrics',
  method: 'GET',
  path: '/v1/agents/{agent_id}/metrics',
  summary: 'Get a metric of an agent over time',
  description:
    "Counts each completed or failed invocation in the interval in which it ended. Intervals are whole and aligned to UTC: `start_time` is rounded down and `end_time` up. In an interval without invocations, throughput and sums are 0; other metrics have no value and are left out. `cost` leaves out invocations whose cost is not known. `feedback` is the average score given in the interval. With `environment`, `version` or `deployment_id`, only matching invocations are counted. With a user token, only that user's invocations are counted.",
  access: { permission: 'read', userTokens: true },
  input: { params: AgentParams, query: MetricsQuery },
  answer: { data: MetricSeries },

  async run({ params, query }, { db, actor, now }) {
    const { metric, environment, version, deployment_id } = query
    const { seq } = await agents.get(db, params.agent_id)
    const time = now()
    const { granularity, ...range } = rangeOf(query, time)
    const whose = { user_id: actor.scope.user_id, environment, version, deployment_id }
    const at = (minute: number, value: number) => ({ timestamp: minute * MINUTE_MS, value, unit: UNIT_OF[metric] })
    const inOrder = <Of>(found: ReadonlyMap<number, Of>) => [...found].toSorted(([a], [b]) => a - b)

    if (metric === 'feedback') {
      const rated = await metrics.feedback(db, seq, range, whose)
      const values = inOrder(rated).map(([minute, given]) => at(minute, meanScore(given)))
      return { metric, granularity, values }
    }
    if (metric === 'tokens' || metric === 'cost') {
      const { aggregation = 'avg' } = query
      const spent = await metrics.spending(db, seq, range, whose)
      const sumAt = (minute: number) => {
        const { tokens = 0, cost_nano = 0 } = spent.get(minute) ?? {}
        return metric === 'tokens' ? tokens : (usdOf(cost_nano) ?? 0)
      }
      if (aggregation === 'sum') {
        const values = begunSteps(range, spent, time).map((minute) => at(minute, sumAt(minute)))
        return { metric, granularity, aggregation, values }
      }
      const values = inOrder(spent).flatMap(([minute, { count, unpriced }]) => {
        const counted = metric === 'tokens' ? count : count - unpriced
        return counted === 0 ? [] : [at(minute, sumAt(minute) / counted)]
      })
      return { metric, granularity, aggregation, values }
    }
    const totals = await metrics.totals(db, seq, range, whose)
    if (metric === 'throughput') {
      const values = begunSteps(range, totals, time).map((minute) =>
        at(minute, (totals.get(minute)?.count ?? 0) / range.step),
      )
      return { metric, granularity, values }
    }
    const counted = inOrder(totals)
    if (metric === 'error_rate') {
      const values = counted.map(([minute, { errors, count }]) => at(minute, (errors / count) * 100))
      return { metric, granularity, values }
    }
    const { aggregation = 'avg' } = query
    if (aggregation === 'p50' || aggregation === 'p95' || aggregation === 'p99') {
      const percentiles = await metrics.percentiles(db, seq, range, whose)
      const values = counted.map(([minute, { max_ms }]) =>
        at(minute, Math.min(percentiles.get(minute)?.[aggregation] ?? 0, max_ms)),
      )
      return { metric, granularity, aggregation, values }
    }
    const values = counted.map(([minute, { sum_ms, count, max_ms }]) =>
      at(minute, aggregation === 'max' ? max_ms : sum_ms / count),
    )
    return { metric, granularity, aggregation, values }
  },
})
