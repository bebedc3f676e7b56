import { useState } from 'preact/hooks'
import type { Agent, Memory } from '../../../sdk/client.ts'
import { param } from '../../lib/location.ts'
import { pageQuery } from '../../lib/page-query.ts'
import { useResource } from '../../lib/resource.ts'
import { service } from '../../lib/service.ts'
import { List } from '../../ui/data/list.tsx'
import type { Column } from '../../ui/data/table.tsx'
import { Ago } from '../../ui/data/time.tsx'
import { Empty } from '../../ui/empty.tsx'
import { ChoiceFilter, TextFilter } from '../../ui/forms/filter.tsx'
import { MemoryDialog, type ShownMemory } from './memory-dialog.tsx'

const LIMIT = 25

/** All of an agent's memories, newest first, or the results of a search, best first. */
export function MemoryList({ agent }: { agent: Agent }) {
  const [opened, setOpened] = useState<ShownMemory>()
  const [search, user_id, session_id] = [param('search'), param('user'), param('session')]
  const kind = param('kind') as Memory['kind'] | undefined
  const page = pageQuery(LIMIT)
  const context = { ...(user_id && { user_id }), ...(session_id && { session_id }) }
  const memories = useResource(
    `memories ${agent.id} ${JSON.stringify([search, context, kind, page])}`,
    (signal): Promise<{ data: ShownMemory[]; pagination: Memories }> =>
      Promise.resolve(
        search
          ? service.memory.search(agent.id, { query: search, context, ...page }, { signal })
          : service.memory.list(agent.id, { ...context, kind, ...page }, { signal }),
      ),
    { everyMs: search ? undefined : 10_000 },
  )
  const columns: Column<ShownMemory>[] = [
    {
      title: 'Memory',
      isWide: true,
      cell: (memory) => (
        <button type="button" class="row-link" onClick={() => setOpened(memory)}>
          {memory.content}
        </button>
      ),
    },
    ...(search ? SCORES : []),
    { title: 'Kind', isExtra: true, cell: ({ kind: of, role }) => (role ? `${of} · ${role}` : of) },
    { title: 'User', isExtra: true, cell: ({ user_id: of }) => of ?? '–' },
    { title: 'When', isNumber: true, cell: ({ created_at }) => <Ago time={created_at} /> },
  ]
  return (
    <>
      <div class="filters">
        <TextFilter name="search" label="Search memories" />
        <TextFilter name="user" label="User" />
        <TextFilter name="session" label="Session" />
        {!search && <ChoiceFilter name="kind" label="Kind" all="All kinds" choices={['turn', 'fact', 'note']} />}
      </div>
      <List of={memories} label="Memories" columns={columns} empty={<NoMemories />} />
      {opened && (
        <MemoryDialog agent={agent} memory={opened} onClose={() => setOpened(undefined)} onChanged={memories.reload} />
      )}
    </>
  )
}

type Memories = Awaited<ReturnType<typeof service.memory.list>>['pagination']

const SCORES: Column<ShownMemory>[] = [
  { title: 'Score', isNumber: true, cell: ({ score }) => score?.toFixed(3) },
  { title: 'Found by', isExtra: true, cell: ({ matched }) => matched?.join(', ') },
]

function NoMemories() {
  return (
    <Empty title="No memories yet" filters={['search', 'user', 'session', 'kind']}>
      <p>
        Messages with a user or session ID are remembered, depending on the agent's memory settings. You can also add
        notes here.
      </p>
    </Empty>
  )
}
