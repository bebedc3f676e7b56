import type { Replay, ReplayCase } from '../../../sdk/client.ts'
import { href } from '../../lib/base.ts'
import { param } from '../../lib/location.ts'
import { pageQuery } from '../../lib/page-query.ts'
import { agentPath, requestPath } from '../../lib/paths.ts'
import { useAction, useResource } from '../../lib/resource.ts'
import { service } from '../../lib/service.ts'
import { may } from '../../lib/session-state.ts'
import { countText, durationText, usdText } from '../../lib/text/format.ts'
import type { Params } from '../../routes.ts'
import { Button } from '../../ui/button.tsx'
import { Facts } from '../../ui/data/facts.tsx'
import { List } from '../../ui/data/list.tsx'
import { Status } from '../../ui/data/status.tsx'
import { type Column, Table } from '../../ui/data/table.tsx'
import { Ago } from '../../ui/data/time.tsx'
import { Empty } from '../../ui/empty.tsx'
import { Failure } from '../../ui/failure.tsx'
import { ChoiceFilter } from '../../ui/forms/filter.tsx'
import { Page } from '../../ui/page.tsx'

const LIMIT = 25
const LIVE_MS = 1_000
const OUTCOMES = ['regressed', 'improved', 'passed', 'failed', 'unknown']

type Report = NonNullable<Replay['report']>
type ColumnName = keyof Report['columns']
type Answer = NonNullable<ReplayCase['candidate']>

/** A replay's report: the columns side by side, the groups that got worse, and the cases. */
export function ReplayPage({ params: { agent = '', replay: id = '' } }: { params: Params }) {
  const found = useResource(`replay ${id}`, (signal) => service.replays.get(agent, id, { signal }), {
    everyMs: LIVE_MS,
  })
  const cancel = useAction(async () => {
    await service.replays.cancel(agent, id)
    found.reload()
  })
  const replay = found.data
  const isRunning = replay?.status === 'running'
  return (
    <Page
      title={replay ? `${replay.version ?? 'draft'} on ${replay.set?.name ?? 'past invocations'}` : 'Replay'}
      crumbs={[
        { label: 'Agents', to: '/' },
        { label: `${agent}: replays`, to: agentPath(agent, 'replays') },
      ]}
      about={replay && <Status value={replay.verdict ?? replay.status} isLive={isRunning} />}
      actions={isRunning && may('cancelReplay') && <Button onClick={() => cancel.run()}>Cancel replay</Button>}
      api={{ operation: 'getReplay', method: 'replays.get', params: { agent_id: agent, replay_id: id } }}
    >
      <Failure error={found.error ?? cancel.error} retry={found.reload} />
      {replay && (
        <>
          {replay.report && <p>{replay.report.reason}</p>}
          {replay.waits_for && <p class="notice">Waiting: {replay.waits_for}</p>}
          <About replay={replay} />
          {replay.report && <Sides replay={replay} report={replay.report} />}
          {replay.report && replay.report.worst.length > 0 && <Worst of={replay.report.worst} />}
          <Cases agent={agent} replay={replay} />
        </>
      )}
    </Page>
  )
}

function About({ replay }: { replay: Replay }) {
  const { spent, limits } = replay
  return (
    <Facts
      of={{
        Baseline: replay.baseline === 'deployed' ? replay.baseline_version : 'recorded answers',
        Cases: `${countText(replay.finished_cases)} of ${countText(replay.case_count)}`,
        Spent: `${usdText(spent.cost_usd)}, ${countText(spent.tokens)} tokens`,
        Limit: limits.cost_usd === null ? undefined : usdText(limits.cost_usd),
        'Ended early': replay.reached_limit ? `limits.${replay.reached_limit}` : undefined,
        Started: <Ago time={replay.created_at} />,
      }}
    />
  )
}

type Side = { name: ColumnName; label: string; sum: Report['columns']['candidate']; ms: number | null }

/** The three columns of the report, a row for each. */
function Sides({ replay, report }: { replay: Replay; report: Report }) {
  const labels = { recorded: 'Recorded', baseline: `Baseline (${replay.baseline_version})`, candidate: 'Candidate' }
  const rows = (['recorded', 'baseline', 'candidate'] as const).flatMap((name): Side[] => {
    const sum = report.columns[name]
    return sum ? [{ name, label: labels[name], sum, ms: replay.durations_ms?.[name] ?? null }] : []
  })
  const columns: Column<Side>[] = [
    { title: 'Column', cell: ({ label }) => label },
    { title: 'Passed', isNumber: true, cell: ({ sum }) => countText(sum.passed) },
    { title: 'Failed', isNumber: true, cell: ({ sum }) => countText(sum.failed) },
    { title: 'Unknown', isNumber: true, isExtra: true, cell: ({ sum }) => countText(sum.unknown) },
    { title: 'Pass rate (95 %)', isNumber: true, cell: ({ sum }) => rateText(sum.pass_rate) },
    { title: 'Tokens', isNumber: true, isExtra: true, cell: ({ sum }) => countText(sum.tokens) },
    { title: 'Cost', isNumber: true, isExtra: true, cell: ({ sum }) => usdText(sum.cost_usd) },
    { title: 'Median duration', isNumber: true, isExtra: true, cell: ({ ms }) => durationText(ms) },
  ]
  return <Table label="Columns" columns={columns} rows={rows} keyOf={({ name }) => name} />
}

function Worst({ of }: { of: Report['worst'] }) {
  return (
    <>
      <h2>Worst groups</h2>
      <ul>
        {of.map(({ slice, cases, regressed, improved }) => (
          <li key={slice}>
            {slice}: {countText(regressed)} of {countText(cases)} got worse, {countText(improved)} better
          </li>
        ))}
      </ul>
    </>
  )
}

function Cases({ agent, replay }: { agent: string; replay: Replay }) {
  const outcome = param('outcome') as ReplayCase['outcome'] | undefined
  const query = { ...pageQuery(LIMIT), ...(outcome && { outcome }) }
  const cases = useResource(`cases ${replay.id} ${replay.finished_cases} ${JSON.stringify(query)}`, (signal) =>
    service.replays.cases(agent, replay.id, query, { signal }),
  )
  const hasBaseline = replay.baseline === 'deployed'
  const hasRecorded = cases.data?.data.some(({ recorded }) => recorded) ?? false
  const columns: Column<ReplayCase>[] = [
    { title: 'Message', cell: (one) => <Message {...one} /> },
    { title: 'Outcome', cell: ({ outcome: found }) => <Status value={found ?? 'waiting'} /> },
    ...(hasRecorded ? [{ title: 'Recorded', cell: ({ recorded }: ReplayCase) => <Shown answer={recorded} /> }] : []),
    ...(hasBaseline ? [{ title: 'Baseline', cell: ({ baseline }: ReplayCase) => <Shown answer={baseline} /> }] : []),
    { title: 'Candidate', cell: ({ candidate }) => <Shown answer={candidate} /> },
  ]
  return (
    <>
      <h2>Cases</h2>
      <div class="filters">
        <ChoiceFilter name="outcome" label="Outcome" all="All outcomes" choices={OUTCOMES} />
      </div>
      <List
        of={cases}
        label="Cases"
        columns={columns}
        keyOf={({ position }) => String(position)}
        empty={<Empty title="No cases" filters={['outcome']} />}
      />
    </>
  )
}

function Message({ message, name, request_id, erased }: ReplayCase) {
  if (erased) return <span class="soft">erased</span>
  const text = name ?? message
  return request_id ? <a href={href(requestPath(request_id))}>{text}</a> : <span>{text}</span>
}

function Shown({ answer }: { answer: Answer | null }) {
  if (!answer) return <span class="soft">–</span>
  const failed = answer.checks.filter(({ passed }) => passed !== true).map(({ type, note }) => note ?? type)
  const missing = answer.unrecorded_calls.map(({ name }) => `${name} was never recorded`)
  const problems = [...missing, ...failed]
  return (
    <>
      {answer.response ?? answer.error}
      {problems.length > 0 && <p class="wrong">{problems.join('; ')}</p>}
    </>
  )
}

function rateText(rate: Report['columns']['candidate']['pass_rate']): string {
  if (!rate) return '–'
  const [value, low, high] = [rate.value, rate.low, rate.high].map((share) => Math.round(share * 100))
  return `${value} % (${low}–${high})`
}
