import type { Agent, CaseSet, Replay } from '../../../sdk/client.ts'
import { href } from '../../lib/base.ts'
import { closeDialog, openDialog, openedDialog } from '../../lib/open-dialog.ts'
import { pageQuery } from '../../lib/page-query.ts'
import { agentPath } from '../../lib/paths.ts'
import { useResource } from '../../lib/resource.ts'
import { service } from '../../lib/service.ts'
import { may } from '../../lib/session-state.ts'
import { countText } from '../../lib/text/format.ts'
import type { Params } from '../../routes.ts'
import { Button } from '../../ui/button.tsx'
import { List } from '../../ui/data/list.tsx'
import { Status } from '../../ui/data/status.tsx'
import { type Column, Table } from '../../ui/data/table.tsx'
import { Ago } from '../../ui/data/time.tsx'
import { Empty } from '../../ui/empty.tsx'
import { Failure } from '../../ui/failure.tsx'
import { AgentFrame } from '../agent/agent-frame.tsx'
import { ReplayForm } from './replay-form.tsx'
import { SetForm } from './set-form.tsx'

const LIMIT = 25
const MOST_SETS = 100

export function ReplaysPage({ params: { agent = '' } }: { params: Params }) {
  const query = pageQuery(LIMIT, '-created_at')
  return (
    <AgentFrame
      name={agent}
      tab="replays"
      api={{ operation: 'listReplays', method: 'replays.list', params: { agent_id: agent }, query }}
    >
      {(loaded) => <Replays agent={loaded} query={query} />}
    </AgentFrame>
  )
}

function Replays({ agent, query }: { agent: Agent; query: ReturnType<typeof pageQuery<'-created_at'>> }) {
  const sets = useResource(`sets ${agent.id}`, (signal) =>
    service.sets.list(agent.id, { limit: MOST_SETS, sort: 'name' }, { signal }),
  )
  const replays = useResource(
    `replays ${agent.id} ${JSON.stringify(query)}`,
    (signal) => service.replays.list(agent.id, query, { signal }),
    { everyMs: 3_000 },
  )
  const names = (sets.data?.data ?? []).map(({ name }) => name)
  return (
    <>
      <div class="filters">
        {may('createReplay') && (
          <Button icon="plus" onClick={() => openDialog('replay')}>
            New replay
          </Button>
        )}
        {may('putSet') && <Button onClick={() => openDialog('set')}>New set</Button>}
      </div>
      <Failure error={sets.error} retry={sets.reload} />
      <h2>Sets</h2>
      <Table
        label="Sets"
        columns={SET_COLUMNS}
        rows={sets.data?.data}
        keyOf={({ name }) => name}
        empty={
          <Empty title="No sets yet">
            <p>A set is a list of messages that the agent should answer well. Create one from past invocations.</p>
          </Empty>
        }
      />
      <h2>Replays</h2>
      <List
        of={replays}
        label="Replays"
        columns={replayColumns(agent.name)}
        sort={query.sort}
        empty={
          <Empty title="No replays yet">
            <p>A replay sends a set to the draft or a version, and compares the answers with the deployed version's.</p>
          </Empty>
        }
      />
      {openedDialog() === 'set' && may('putSet') && (
        <SetForm agent={agent} onClose={closeDialog} onSaved={() => sets.reload()} />
      )}
      {openedDialog() === 'replay' && may('createReplay') && (
        <ReplayForm agent={agent} sets={names} onClose={closeDialog} onStarted={() => replays.reload()} />
      )}
    </>
  )
}

const SET_COLUMNS: Column<CaseSet>[] = [
  { title: 'Set', cell: ({ name }) => name },
  { title: 'Description', isWide: true, cell: ({ description }) => description ?? <span class="soft">–</span> },
  { title: 'Cases', isNumber: true, cell: ({ case_count }) => countText(case_count) },
  { title: 'Saved', isNumber: true, cell: ({ updated_at }) => <Ago time={updated_at} /> },
]

const replayColumns = (agent: string): Column<Replay>[] => [
  {
    title: 'Replay',
    isWide: true,
    cell: ({ id, set, version, case_count }) => (
      <a href={href(agentPath(agent, `replays/${id}`))}>
        {version ?? 'draft'} on {set?.name ?? `${case_count} invocations`}
      </a>
    ),
  },
  {
    title: 'Result',
    cell: ({ status, verdict }) => <Status value={verdict ?? status} isLive={status === 'running'} />,
  },
  {
    title: 'Cases',
    isNumber: true,
    isExtra: true,
    cell: ({ finished_cases, case_count }) => `${countText(finished_cases)} of ${countText(case_count)}`,
  },
  { title: 'Started', sort: 'created_at', isNumber: true, cell: ({ created_at }) => <Ago time={created_at} /> },
]
