import { AgentParams } from '../agents/agent.ts'
import * as agents from '../agents/store.ts'
import { operation } from '../operation.ts'
import { MetricSeries, MetricsQuery, UNIT_OF } from './metric.ts'
import { begunSteps, MINUTE_MS, rangeOf } from './range.ts'
import * as metrics from './store.ts'

export const getMetrics = operation({
  id: 'getMetrics',
  method: 'GET',
  path: '/v1/agents/{agent_id}/metrics',
  summary: 'Get a metric of an agent over time',
  description:
    "Counts each completed or failed invocation in the interval in which it ended. Intervals are whole and aligned to UTC: `start_time` is rounded down and `end_time` up. In an interval without invocations, throughput is 0; response time and error rate have no value and are left out. With a user token, only that user's invocations are counted.",
  access: { permission: 'read', userTokens: true },
  input: { params: AgentParams, query: MetricsQuery },
  answer: { data: MetricSeries },

  async run({ params, query }, { db, actor, now }) {
    const { metric } = query
    const { seq } = await agents.get(db, params.agent_id)
    const time = now()
    const { granularity, ...range } = rangeOf(query, time)
    const totals = await metrics.totals(db, seq, range, actor.scope)
    const at = (minute: number, value: number) => ({ timestamp: minute * MINUTE_MS, value, unit: UNIT_OF[metric] })

    if (metric === 'throughput') {
      const values = begunSteps(range, totals, time).map((minute) =>
        at(minute, (totals.get(minute)?.count ?? 0) / range.step),
      )
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
    const percentiles = await metrics.percentiles(db, seq, range, actor.scope)
    const values = counted.map(([minute, { max_ms }]) =>
      at(minute, Math.min(percentiles.get(minute)?.[aggregation] ?? 0, max_ms)),
    )
    return { metric, granularity, aggregation, values }
  },
})
