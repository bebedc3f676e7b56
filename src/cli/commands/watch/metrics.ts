import type { Command } from 'commander'
import type { Client, MetricSeries, Performance } from '../../../../sdk/client.ts'
import { operationCommand } from '../../from-operations/operation-command.ts'
import { pointInTime } from '../../terminal/input.ts'
import { print, printRows } from '../../terminal/output.ts'
import { sparkline } from '../../terminal/sparkline.ts'
import type { World } from '../../world.ts'

const METRICS: MetricSeries['metric'][] = ['throughput', 'response_time', 'error_rate', 'tokens', 'cost', 'feedback']
/** Only these metrics have an aggregation. */
const AGGREGATED = new Set<MetricSeries['metric']>(['response_time', 'tokens', 'cost'])
const WIDTH = 60

type MetricQuery = Parameters<Client['metrics']['get']>[1]

export function metrics(command: Command, world: World): void {
  operationCommand(command, world, 'getMetrics', {
    args: ['[metric]'],
    options: {
      metric: 'response_time, throughput, error_rate, tokens, cost or feedback (default: all)',
      start_time: 'a duration such as 6h, or a time (default: 1h)',
      end_time: 'a duration, or a time',
      granularity: 'length of one step',
      aggregation: 'for response_time: avg, p50, p95, p99 or max; for tokens and cost: avg or sum',
      environment: 'only invocations in this environment',
      version: 'only invocations that this version answered',
      deployment_id: 'only invocations that this deployment answered',
    },
    more: (own) =>
      own
        .option('--values', 'print every value')
        .option('--table', 'print a table of requests, errors and response times'),
    read({ query }) {
      query['start_time'] ??= pointInTime('1h')
    },
    async call(client, { params: { agent_id = '' }, query, options }) {
      // Without a metric, and for a table, the reply isn't that of one request. Only `show` and --json read it.
      const { metric, aggregation, ...range } = query as Partial<MetricQuery>
      if (options['table']) return (await client.metrics.performance(agent_id, range)) as never
      const series = (metric ? [metric] : METRICS).map((name) => {
        const isAggregated = (metric ?? 'response_time') === name && AGGREGATED.has(name)
        return client.metrics.get(agent_id, {
          ...range,
          metric: name,
          aggregation: isAggregated ? aggregation : undefined,
        })
      })
      return (metric ? await series[0] : await Promise.all(series)) as never
    },
    show(_world, found: MetricSeries | MetricSeries[] | Performance, { options }) {
      if ('buckets' in found) return showTable(world, found)
      for (const one of [found].flat()) show(world, one, options['values'] === true)
    },
  })
}

function show(world: World, series: MetricSeries, isLong: boolean): void {
  const { metric, aggregation, granularity, values } = series
  const title = `${metric}${aggregation ? ` (${aggregation})` : ''}, per ${granularity}`
  if (values.length === 0) return print(world, `${title}: no data yet`)
  const numbers = values.map(({ value }) => value)
  const unit = values[0]?.unit.replaceAll('_', ' ') ?? ''
  const [low, high, last] = [Math.min(...numbers), Math.max(...numbers), numbers.at(-1) ?? 0].map(round)
  print(world, `${title}\n  ${sparkline(numbers, WIDTH)}\n  min ${low} · max ${high} · last ${last} ${unit}`)
  if (!isLong) return
  printRows(world, values, [
    ['TIME', ({ timestamp }) => timestamp],
    [unit.toUpperCase(), ({ value }) => round(value)],
  ])
}

function showTable(world: World, { buckets }: Performance): void {
  const ms = (value: number | null) => (value === null ? '' : round(value))
  printRows(
    world,
    buckets.filter(({ requests }) => requests > 0),
    [
      ['TIME', ({ timestamp }) => timestamp],
      'requests',
      'errors',
      ['AVG MS', ({ avg_ms }) => ms(avg_ms)],
      ['P50', ({ p50_ms }) => ms(p50_ms)],
      ['P95', ({ p95_ms }) => ms(p95_ms)],
      ['P99', ({ p99_ms }) => ms(p99_ms)],
      ['MAX', ({ max_ms }) => ms(max_ms)],
      'tokens',
      'cost_usd',
      ['SCORE', ({ avg_score }) => ms(avg_score)],
    ],
  )
}

const round = (value: number) => Math.round(value * 100) / 100
