import { useState } from 'preact/hooks'
import type { AgentSummary } from '../../../sdk/client.ts'
import { BASE, href } from '../../lib/base.ts'
import { param } from '../../lib/location.ts'
import { agentPath } from '../../lib/paths.ts'
import { useResource } from '../../lib/resource.ts'
import { service } from '../../lib/service.ts'
import { may } from '../../lib/session-state.ts'
import { Button } from '../../ui/button.tsx'
import { Snippet } from '../../ui/copy.tsx'
import { Empty } from '../../ui/empty.tsx'
import { Failure } from '../../ui/failure.tsx'
import { Page } from '../../ui/page.tsx'
import { Status } from '../../ui/status.tsx'
import { type Column, Pager, Table } from '../../ui/table.tsx'
import { Ago } from '../../ui/time.tsx'
import { CreateDialog } from './create-dialog.tsx'

const LIMIT = 25

const COLUMNS: Column<AgentSummary>[] = [
  { title: 'Agent', sort: 'name', cell: ({ name }) => <a href={href(agentPath(name))}>{name}</a> },
  { title: 'Status', sort: 'status', cell: ({ status }) => <Status value={status} /> },
  {
    title: 'Created',
    sort: 'created_at',
    isNumber: true,
    isExtra: true,
    cell: ({ created_at }) => <Ago time={created_at} />,
  },
]

export function AgentsPage() {
  const [isCreating, setCreating] = useState(false)
  const query = {
    limit: LIMIT,
    offset: Number(param('offset') ?? 0),
    sort: (param('sort') ?? 'name') as 'name',
  }
  const agents = useResource(`agents ${JSON.stringify(query)}`, (signal) => service.agents.list(query, { signal }), {
    everyMs: 10_000,
  })
  const create = may('createAgent') && (
    <Button look="main" icon="plus" onClick={() => setCreating(true)}>
      New agent
    </Button>
  )
  return (
    <Page title="Agents" actions={create} api={{ operation: 'listAgents', method: 'agents.list', query }}>
      <Failure error={agents.error} retry={agents.reload} />
      <Table
        label="Agents"
        columns={COLUMNS}
        rows={agents.data?.data}
        keyOf={({ id }) => id}
        defaultSort="name"
        empty={<NoAgents />}
      />
      <Pager pagination={agents.data?.pagination} />
      {isCreating && <CreateDialog onClose={() => setCreating(false)} />}
    </Page>
  )
}

/** The first thing that a new reader sees: three commands, and an agent answers. */
function NoAgents() {
  return (
    <Empty title="No agent yet">
      <p>An agent answers messages under a name. Make one with the button above, or in a terminal:</p>
      <Snippet
        label="commands"
        text={`moorage init hello\nmoorage deploy v1\nmoorage invoke hello "Ahoy!" --url ${BASE.href.replace(/\/$/, '')}`}
      />
    </Empty>
  )
}
