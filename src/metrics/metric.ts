import { z } from 'zod'
import { Time, TimeInput } from '../shapes.ts'

export const Metric = z.enum(['response_time', 'throughput', 'error_rate'])
export type Metric = z.output<typeof Metric>

export const UNIT_OF = {
  response_time: 'ms',
  throughput: 'requests_per_minute',
  error_rate: 'percent',
} as const satisfies Record<Metric, string>

/** In minutes. */
export const GRANULARITIES = { '1m': 1, '5m': 5, '1h': 60, '1d': 1440 } as const
const Granularity = z.enum(['1m', '5m', '1h', '1d'])
export type Granularity = z.output<typeof Granularity>

const Aggregation = z.enum(['avg', 'p50', 'p95', 'p99', 'max'])
export type Aggregation = z.output<typeof Aggregation>

export const PerformanceQuery = z.strictObject({
  start_time: TimeInput.optional().describe('Default: one hour before end_time'),
  end_time: TimeInput.optional().describe('Default: now'),
  granularity: Granularity.optional().describe('Default: depends on the length of the range'),
})

export const MetricsQuery = z
  .strictObject({
    metric: Metric,
    ...PerformanceQuery.shape,
    aggregation: Aggregation.optional().describe('For `response_time` only. Default: avg'),
  })
  .refine(({ metric, aggregation }) => aggregation === undefined || metric === 'response_time', {
    path: ['aggregation'],
    message: 'is only allowed for the metric `response_time`',
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
      }),
    ),
  })
  .meta({ id: 'Performance' })

/** What 50, 95 and 99 % of the invocations did not take longer than, in milliseconds. */
export type Percentiles = { p50: number; p95: number; p99: number }

/** The sums of one bucket of time. */
export type Totals = { count: number; errors: number; sum_ms: number; max_ms: number }
