import type { Agent, AgentSession, AgentUser } from '../../../sdk/client.ts'
import { href } from '../../lib/base.ts'
import { pageQuery } from '../../lib/page-query.ts'
import { agentPath } from '../../lib/paths.ts'
import { useResource } from '../../lib/resource.ts'
import { service } from '../../lib/service.ts'
import { countText } from '../../lib/text/format.ts'
import { List } from '../../ui/data/list.tsx'
import type { Column } from '../../ui/data/table.tsx'
import { Ago } from '../../ui/data/time.tsx'
import { Empty } from '../../ui/empty.tsx'

const LIMIT = 25

type Row = AgentUser & Partial<AgentSession>

/** The users or sessions that an agent remembers, with links to their memories. */
export function PeopleList({ agent, of }: { agent: Agent; of: 'users' | 'sessions' }) {
  const query = pageQuery(LIMIT, '-last_used_at')
  const rows = useResource(`${of} ${agent.id} ${JSON.stringify(query)}`, async (signal) => {
    const page = await service.users[of === 'users' ? 'list' : 'sessions'](agent.id, query, { signal })
    return page as { data: Row[]; pagination: (typeof page)['pagination'] }
  })
  return (
    <List
      of={rows}
      label={of === 'users' ? 'Users' : 'Sessions'}
      columns={of === 'users' ? usersOf(agent) : sessionsOf(agent)}
      keyOf={({ user_id, session_id }) => JSON.stringify([session_id, user_id])}
      sort={query.sort}
      empty={
        <Empty title={of === 'users' ? 'No users yet' : 'No sessions yet'}>
          <p>
            They appear when a message includes <code>context.user_id</code> or <code>context.session_id</code>.
          </p>
        </Empty>
      }
    />
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
  // Two users may each have a session with the same name.
  const cell = ({ session_id = '', user_id }: Row) => (
    <a href={memoriesOf(agent, { session: session_id, ...(user_id && { user: user_id }) })}>{session_id}</a>
  )
  return [
    { title: 'Session', sort: 'session_id', cell },
    { title: 'User', isExtra: true, cell: ({ user_id }) => user_id ?? '–' },
    ...COUNTS,
  ]
}
