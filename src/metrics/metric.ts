import { z } from 'zod'
import { Label, Time, TimeInput } from '../shapes.ts'

export const Metric = z.enum(['response_time', 'throughput', 'error_rate', 'tokens', 'cost', 'feedback'])
export type Metric = z.output<typeof Metric>

export const UNIT_OF = {
  response_time: 'ms',
  throughput: 'requests_per_minute',
  error_rate: 'percent',
  tokens: 'tokens',
  cost: 'usd',
  feedback: 'score',
} as const satisfies Record<Metric, string>

/** In minutes. */
export const GRANULARITIES = { '1m': 1, '5m': 5, '1h': 60, '1d': 1440 } as const
const Granularity = z.enum(['1m', '5m', '1h', '1d'])
export type Granularity = z.output<typeof Granularity>

const Aggregation = z.enum(['avg', 'p50', 'p95', 'p99', 'max', 'sum'])
export type Aggregation = z.output<typeof Aggregation>

const AGGREGATIONS_OF: Partial<Record<Metric, Aggregation[]>> = {
  response_time: ['avg', 'p50', 'p95', 'p99', 'max'],
  tokens: ['avg', 'sum'],
  cost: ['avg', 'sum'],
}

export const PerformanceQuery = z.strictObject({
  start_time: TimeInput.optional().describe('Default: one hour before end_time'),
  end_time: TimeInput.optional().describe('Default: now'),
  granularity: Granularity.optional().describe('Default: depends on the length of the range'),
  environment: Label(32).optional().describe('Only invocations in this environment'),
  version: Label(64).optional().describe('Only invocations that this version answered'),
  deployment_id: z.string().max(256).optional().describe('Only invocations that this deployment answered'),
})

export const MetricsQuery = z
  .strictObject({
    metric: Metric,
    ...PerformanceQuery.shape,
    aggregation: Aggregation.optional().describe(
      'For `response_time`: `avg`, a percentile or `max`. For `tokens` and `cost`: `avg` per invocation, or `sum`. Default: avg',
    ),
  })
  .superRefine(({ metric, aggregation }, context) => {
    const allowed = AGGREGATIONS_OF[metric]
    if (aggregation === undefined || allowed?.includes(aggregation)) return
    const message = allowed ? `must be one of ${allowed.join(', ')}` : `is not allowed for the metric \`${metric}\``
    context.addIssue({ code: 'custom', path: ['aggregation'], message })
  })

export const MetricSeries = z
  .object({
    metric: Metric,
    granularity: Granularity,
    aggregation: Aggregation.optional(),
    values: z.array(z.object({ timestamp: Time, value: z.number(), unit: z.enum(Object.values(UNIT_OF)) })),
  })
  .meta({ id: 'MetricSeries' })

const Duration = z.number().nullable().describe('null: no invocation ended in it')

export const PerformanceReply = z
  .object({
    granularity: Granularity,
    buckets: z.array(
      z.object({
        timestamp: Time.describe('The start of the interval'),
        requests: z.int(),
        errors: z.int(),
        avg_ms: Duration,
        p50_ms: Duration,
        p95_ms: Duration,
        p99_ms: Duration,
        max_ms: Duration,
        tokens: z.int(),
        cost_usd: z.number().describe('Without invocations whose cost is not known'),
        unpriced: z.int().describe('Invocations whose cost is not known, because a model has no price'),
        feedback: z.int().describe('How many scores were given'),
        avg_score: z.number().nullable().describe('null: no feedback was given'),
      }),
    ),
  })
  .meta({ id: 'Performance' })

/** What 50, 95 and 99 % of the invocations did not take longer than, in milliseconds. */
export type Percentiles = { p50: number; p95: number; p99: number }

/** The sums of one bucket of time. */
export type Totals = { count: number; errors: number; sum_ms: number; max_ms: number }

/** What the invocations of one bucket used. */
export type Spent = { count: number; tokens: number; cost_nano: number; unpriced: number }

/** The feedback of one bucket. */
export type Rated = { count: number; score_millionths: number }

export function meanScore({ count, score_millionths }: Rated): number {
  return score_millionths / count / 1_000_000
}
