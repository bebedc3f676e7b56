import { useMemo } from 'preact/hooks'
import type { Agent, Deployment, Performance } from '../../../sdk/client.ts'
import { href } from '../../lib/base.ts'
import { param } from '../../lib/location.ts'
import { useResource } from '../../lib/resource.ts'
import { service } from '../../lib/service.ts'
import { may } from '../../lib/session-state.ts'
import { countText, durationText, exactText, percentText } from '../../lib/text/format.ts'
import type { Params } from '../../routes.ts'
import { Chart } from '../../ui/chart/chart.tsx'
import { firstBucket, type Line } from '../../ui/chart/plot.ts'
import { Cost } from '../../ui/data/cost.tsx'
import { Facts } from '../../ui/data/facts.tsx'
import { type Column, Table } from '../../ui/data/table.tsx'
import { Empty } from '../../ui/empty.tsx'
import { Failure } from '../../ui/failure.tsx'
import { ChoiceFilter } from '../../ui/forms/filter.tsx'
import { AgentFrame } from '../agent/agent-frame.tsx'
import { MetricsRangeFilter, rangeKey, readRange, zoomTo } from './metrics-range.tsx'

type Bucket = Performance['buckets'][number]

const SECONDS = { '1m': 60, '5m': 300, '1h': 3_600, '1d': 86_400 }

/** The most deployments that a chart can label. */
const MARKERS = 25

export function MetricsPage({ params: { agent = '' } }: { params: Params }) {
  return (
    <AgentFrame
      name={agent}
      tab="metrics"
      api={{
        operation: 'getPerformance',
        method: 'metrics.performance',
        params: { agent_id: agent },
        query: { ...readRange(), version: param('version') },
      }}
    >
      {(loaded) => <Metrics agent={loaded} />}
    </AgentFrame>
  )
}

function Metrics({ agent: { id, name } }: { agent: Agent }) {
  const isZoomed = param('from') !== undefined
  const [version, beside] = [param('version'), param('beside')]
  const everyMs = isZoomed ? undefined : 30_000
  const performanceOf = (of: string | undefined) => (signal: AbortSignal) =>
    service.metrics.performance(name, { ...readRange(), version: of }, { signal })
  const key = `performance ${name} ${rangeKey()}`
  const performance = useResource(`${key} ${version}`, performanceOf(version), { everyMs })
  const other = useResource(beside ? `${key} ${beside}` : undefined, performanceOf(beside), { everyMs })
  const deployments = useResource(may('listDeployments') ? `markers ${name}` : undefined, (signal) =>
    service.deployments.list(name, { limit: MARKERS }, { signal }),
  )
  const found = performance.data
  const shown = deployments.data?.data ?? []
  const versions = [...new Set(shown.map((deployment) => deployment.version))]
  return (
    <>
      <div class="filters">
        <MetricsRangeFilter />
        {versions.length > 0 && (
          <>
            <ChoiceFilter name="version" label="Version" all="All versions" choices={versions} />
            <ChoiceFilter name="beside" label="Compare with" all="Compare with …" choices={versions} />
          </>
        )}
        {may('getUsage') && <a href={href(`/usage?agent_id=${id}`)}>Usage and cost</a>}
      </div>
      <Failure error={performance.error ?? other.error ?? deployments.error} retry={performance.reload} />
      {found && !beside && <Charts performance={found} deployments={shown} />}
      {found && beside && (
        <div class="beside">
          <section aria-label={version ?? 'All versions'}>
            <h2>{version ?? 'All versions'}</h2>
            <Charts performance={found} deployments={shown} />
          </section>
          <section aria-label={beside}>
            <h2>{beside}</h2>
            {other.data && <Charts performance={other.data} deployments={shown} />}
          </section>
        </div>
      )}
    </>
  )
}

function Charts({ performance, deployments }: { performance: Performance; deployments: Deployment[] }) {
  const { granularity } = performance
  const isZoomed = param('from') !== undefined
  // A range that the reader has selected on a chart is drawn as it is.
  const buckets = useMemo(
    () => (isZoomed ? performance.buckets : withData(performance.buckets)),
    [performance, isZoomed],
  )
  const markers = useMemo(
    () => deployments.map(({ version, created_at }) => ({ at: Date.parse(created_at), label: version })),
    [deployments],
  )
  const sums = useMemo(() => sumsOf(buckets), [buckets])
  const { times, requests, errors, durations } = useMemo(() => seriesOf(buckets, sums), [buckets, sums])
  if (sums.requests === 0) {
    return (
      <Empty title="No requests in this range">
        <p>Metrics appear within a second after an invocation ends. Choose a longer range, or send a message.</p>
      </Empty>
    )
  }
  const end = (times.at(-1) ?? 0) + SECONDS[granularity]
  const common = { times, end, markers, onZoom: zoomTo }
  return (
    <>
      <Facts
        of={{
          Requests: <b>{countText(sums.requests)}</b>,
          Failed: <b>{`${countText(sums.errors)} (${percentText(sums.errors, sums.requests)})`}</b>,
          Average: <b>{durationText(sums.total_ms / sums.requests)}</b>,
          Longest: <b>{durationText(sums.max_ms)}</b>,
          Tokens: <b>{`${countText(Math.round(sums.tokens / sums.requests))} per request`}</b>,
          Cost:
            sums.requests > sums.unpriced ? <Cost usd={sums.cost_usd / (sums.requests - sums.unpriced)} /> : undefined,
          Feedback: sums.feedback > 0 ? <b>{`${scoreText(sums)} (${countText(sums.feedback)})`}</b> : undefined,
          Interval: granularity,
        }}
      />
      <Chart title={`Requests per ${granularity}`} lines={requests} least={4} format={countText} {...common} />
      <Chart title="Response time" lines={durations} least={10} format={durationText} {...common} />
      <Chart title="Errors" lines={errors} least={5} format={(value) => percentText(value, 100)} {...common} />
      <details>
        <summary>View as table</summary>
        <Table
          label="Metrics"
          columns={COLUMNS}
          rows={buckets.filter(({ requests: count }) => count > 0).toReversed()}
          keyOf={({ timestamp }) => timestamp}
        />
      </details>
    </>
  )
}

const COLUMNS: Column<Bucket>[] = [
  { title: 'From', cell: ({ timestamp }) => exactText(timestamp) },
  { title: 'Requests', isNumber: true, cell: ({ requests }) => countText(requests) },
  { title: 'Errors', isNumber: true, cell: ({ errors }) => countText(errors) },
  { title: 'p50', isNumber: true, isExtra: true, cell: ({ p50_ms }) => durationText(p50_ms) },
  { title: 'p95', isNumber: true, cell: ({ p95_ms }) => durationText(p95_ms) },
  { title: 'p99', isNumber: true, isExtra: true, cell: ({ p99_ms }) => durationText(p99_ms) },
  { title: 'Longest', isNumber: true, isExtra: true, cell: ({ max_ms }) => durationText(max_ms) },
]

function withData(buckets: Bucket[]): Bucket[] {
  return buckets.slice(firstBucket(buckets.length, (i) => (buckets[i]?.requests ?? 0) > 0))
}

function seriesOf(buckets: Bucket[], sums: ReturnType<typeof sumsOf>) {
  const line = (label: string, color: string, of: (bucket: Bucket) => number | null): Line => ({
    label,
    color,
    values: buckets.map(of),
  })
  const rate = ({ requests, errors }: Bucket) => (requests > 0 ? (100 * errors) / requests : null)
  return {
    times: buckets.map(({ timestamp }) => Date.parse(timestamp) / 1000),
    requests: [{ ...line('Requests', '--accent', ({ requests }) => requests), isBars: true, total: sums.requests }],
    durations: [
      line('p50', '--good', ({ p50_ms }) => p50_ms),
      line('p95', '--accent', ({ p95_ms }) => p95_ms),
      line('p99', '--warn', ({ p99_ms }) => p99_ms),
    ],
    errors: [{ ...line('Errors', '--bad', rate), total: (100 * sums.errors) / sums.requests }],
  }
}

const NOTHING_SPENT = { tokens: 0, cost_usd: 0, unpriced: 0, feedback: 0, score: 0 }

function scoreText({ score, feedback }: typeof NOTHING_SPENT): string {
  return (score / feedback).toFixed(2)
}

function sumsOf(buckets: Bucket[]) {
  const sums = { requests: 0, errors: 0, total_ms: 0, max_ms: 0, ...NOTHING_SPENT }
  for (const { requests, errors, avg_ms, max_ms, tokens, cost_usd, unpriced, feedback, avg_score } of buckets) {
    sums.requests += requests
    sums.errors += errors
    sums.total_ms += requests * (avg_ms ?? 0)
    sums.max_ms = Math.max(sums.max_ms, max_ms ?? 0)
    sums.tokens += tokens
    sums.cost_usd += cost_usd
    sums.unpriced += unpriced
    sums.feedback += feedback
    sums.score += feedback * (avg_score ?? 0)
  }
  return sums
}
