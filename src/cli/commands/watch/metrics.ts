import type { Command } from 'commander'
import type { MetricSeries, Performance } from '../../../../sdk/client.ts'
import { takesService } from '../../command.ts'
import { type Common, withClient } from '../../connect/connect.ts'
import { pointInTime } from '../../terminal/input.ts'
import { print, printJson, printRows } from '../../terminal/output.ts'
import { sparkline } from '../../terminal/sparkline.ts'
import type { World } from '../../world.ts'

type MetricOptions = Common & {
  since: string
  until?: string
  granularity?: MetricSeries['granularity']
  aggregation?: NonNullable<MetricSeries['aggregation']>
  environment?: string
  version?: string
  deployment?: string
  values?: boolean
  table?: boolean
}

const METRICS: MetricSeries['metric'][] = ['throughput', 'response_time', 'error_rate', 'tokens', 'cost', 'feedback']
/** Only these metrics have an aggregation. */
const AGGREGATED = new Set<MetricSeries['metric']>(['response_time', 'tokens', 'cost'])
const WIDTH = 60

export function metrics(command: Command, world: World): void {
  takesService(command)
    .argument('<agent>', 'ID or name')
    .argument('[metric]', 'response_time, throughput, error_rate, tokens, cost or feedback (default: all)')
    .option('--since <when>', 'a duration such as 6h, or a time', '1h')
    .option('--until <when>', 'a duration, or a time')
    .option('--granularity <step>', '1m, 5m, 1h or 1d')
    .option('--aggregation <how>', 'for response_time: avg, p50, p95, p99 or max; for tokens and cost: avg or sum')
    .option('--environment <environment>', 'only invocations in this environment')
    .option('--version <version>', 'only invocations that this version answered')
    .option('--deployment <deployment_id>', 'only invocations that this deployment answered')
    .option('--values', 'print every value')
    .option('--table', 'print a table of requests, errors and response times')
    .action(async (agent: string, metric: MetricSeries['metric'] | undefined, options: MetricOptions) => {
      const { granularity, aggregation, environment, version, deployment: deployment_id } = options
      const range = { start_time: pointInTime(options.since), end_time: options.until && pointInTime(options.until) }
      const query = { ...range, granularity, environment, version, deployment_id }
      if (options.table) {
        const performance = await withClient(world, options, (client) => client.metrics.performance(agent, query))
        return options.json ? printJson(world, performance) : showTable(world, performance)
      }
      const series = await withClient(world, options, (client) =>
        Promise.all(
          (metric ? [metric] : METRICS).map((name) =>
            client.metrics.get(agent, {
              ...query,
              metric: name,
              aggregation: (metric ?? 'response_time') === name && AGGREGATED.has(name) ? aggregation : undefined,
            }),
          ),
        ),
      )
      if (options.json) return printJson(world, metric ? series[0] : series)
      for (const one of series) show(world, one, options)
    })
}

function show(world: World, series: MetricSeries, { values: isLong }: MetricOptions): void {
  const { metric, aggregation, granularity, values } = series
  const title = `${metric}${aggregation ? ` (${aggregation})` : ''}, per ${granularity}`
  if (values.length === 0) return print(world, `${title}: no data yet`)
  const numbers = values.map(({ value }) => value)
  const unit = values[0]?.unit.replaceAll('_', ' ') ?? ''
  const [low, high, last] = [Math.min(...numbers), Math.max(...numbers), numbers.at(-1) ?? 0].map(round)
  print(world, `${title}\n  ${sparkline(numbers, WIDTH)}\n  min ${low} · max ${high} · last ${last} ${unit}`)
  if (!isLong) return
  printRows(
    world,
    values,
    [
      { title: 'TIME', of: ({ timestamp }) => timestamp },
      { title: unit.toUpperCase(), of: ({ value }) => round(value) },
    ],
    {},
  )
}

function showTable(world: World, { buckets }: Performance): void {
  const ms = (value: number | null) => (value === null ? '' : round(value))
  printRows(
    world,
    buckets.filter(({ requests }) => requests > 0),
    [
      { title: 'TIME', of: ({ timestamp }) => timestamp },
      { title: 'REQUESTS', of: ({ requests }) => requests },
      { title: 'ERRORS', of: ({ errors }) => errors },
      { title: 'AVG MS', of: ({ avg_ms }) => ms(avg_ms) },
      { title: 'P50', of: ({ p50_ms }) => ms(p50_ms) },
      { title: 'P95', of: ({ p95_ms }) => ms(p95_ms) },
      { title: 'P99', of: ({ p99_ms }) => ms(p99_ms) },
      { title: 'MAX', of: ({ max_ms }) => ms(max_ms) },
      { title: 'TOKENS', of: ({ tokens }) => tokens },
      { title: 'COST USD', of: ({ cost_usd }) => cost_usd },
      { title: 'SCORE', of: ({ avg_score }) => ms(avg_score) },
    ],
    {},
  )
}

const round = (value: number) => Math.round(value * 100) / 100
