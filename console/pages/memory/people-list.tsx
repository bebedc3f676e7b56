import type { Agent, AgentSession, AgentUser } from '../../../sdk/client.ts'
import { href } from '../../lib/base.ts'
import { countText } from '../../lib/format.ts'
import { param } from '../../lib/location.ts'
import { agentPath } from '../../lib/paths.ts'
import { useResource } from '../../lib/resource.ts'
import { service } from '../../lib/service.ts'
import { Empty } from '../../ui/empty.tsx'
import { Failure } from '../../ui/failure.tsx'
import { type Column, Pager, Table } from '../../ui/table.tsx'
import { Ago } from '../../ui/time.tsx'

const LIMIT = 25

type Row = AgentUser & Partial<AgentSession>

/** Who is remembered: users or sessions, with the way to their memories. */
export function PeopleList({ agent, of }: { agent: Agent; of: 'users' | 'sessions' }) {
  const query = {
    limit: LIMIT,
    offset: Number(param('offset') ?? 0),
    sort: (param('sort') ?? '-last_used_at') as '-last_used_at',
  }
  const rows = useResource(`${of} ${agent.id} ${JSON.stringify(query)}`, async (signal) => {
    const page = await service.users[of === 'users' ? 'list' : 'sessions'](agent.id, query, { signal })
    return page as { data: Row[]; pagination: (typeof page)['pagination'] }
  })
  return (
    <>
      <Failure error={rows.error} retry={rows.reload} />
      <Table
        label={of === 'users' ? 'Users' : 'Sessions'}
        columns={of === 'users' ? usersOf(agent) : sessionsOf(agent)}
        rows={rows.data?.data}
        keyOf={({ user_id, session_id }) => session_id ?? user_id}
        defaultSort="-last_used_at"
        empty={
          <Empty title={of === 'users' ? 'No user yet' : 'No session yet'}>
            <p>
              They appear when a message comes with <code>context.user_id</code> or <code>context.session_id</code>.
            </p>
          </Empty>
        }
      />
      <Pager pagination={rows.data?.pagination} />
    </>
  )
}

function memoriesOf(agent: Agent, filter: Record<string, string>): string {
  return href(`${agentPath(agent.name, 'memory')}?${new URLSearchParams(filter)}`)
}

const COUNTS: Column<Row>[] = [
  { title: 'Turns', isNumber: true, cell: ({ turns }) => countText(turns) },
  { title: 'Notes and facts', isNumber: true, cell: ({ notes }) => countText(notes) },
  { title: 'Last used', sort: 'last_used_at', isNumber: true, cell: ({ last_used_at }) => <Ago time={last_used_at} /> },
]

function usersOf(agent: Agent): Column<Row>[] {
  const cell = ({ user_id }: Row) => <a href={memoriesOf(agent, { user: user_id })}>{user_id}</a>
  return [{ title: 'User', sort: 'user_id', cell }, ...COUNTS]
}

function sessionsOf(agent: Agent): Column<Row>[] {
  const cell = ({ session_id = '' }: Row) => <a href={memoriesOf(agent, { session: session_id })}>{session_id}</a>
  return [
    { title: 'Session', sort: 'session_id', cell },
    { title: 'User', isExtra: true, cell: ({ user_id }) => user_id ?? '–' },
    ...COUNTS,
  ]
}
