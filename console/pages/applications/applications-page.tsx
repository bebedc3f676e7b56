import { useState } from 'preact/hooks'
import type { ConnectedApplication } from '../../../sdk/client.ts'
import { useAgentNames } from '../../lib/agents/agent-names.ts'
import { pageQuery } from '../../lib/page-query.ts'
import { useResource } from '../../lib/resource.ts'
import { service } from '../../lib/service.ts'
import { may } from '../../lib/session-state.ts'
import { toast } from '../../lib/toasts.ts'
import { Button } from '../../ui/button.tsx'
import { List } from '../../ui/data/list.tsx'
import type { Column } from '../../ui/data/table.tsx'
import { Ago } from '../../ui/data/time.tsx'
import { Who } from '../../ui/data/who.tsx'
import { Confirm } from '../../ui/dialogs/confirm.tsx'
import { Empty } from '../../ui/empty.tsx'
import { Page } from '../../ui/page.tsx'

const LIMIT = 25

const columnsOf = (nameOf: (agent_id: string) => string): Column<ConnectedApplication>[] => [
  {
    title: 'Application',
    sort: 'name',
    // Anyone can choose a name. Only the host is certain.
    cell: ({ name, client_id }) => (
      <>
        {name} <span class="soft">{new URL(client_id).host}</span>
      </>
    ),
  },
  {
    title: 'Connected by',
    cell: ({ person_id, created_by, created_by_name }) => <Who id={person_id ?? created_by} name={created_by_name} />,
  },
  { title: 'Agent', isExtra: true, cell: ({ agent_id }) => (agent_id ? nameOf(agent_id) : 'all agents') },
  {
    title: 'Connected',
    sort: 'created_at',
    isNumber: true,
    isExtra: true,
    cell: ({ created_at }) => <Ago time={created_at} />,
  },
  {
    title: 'Last used',
    sort: 'last_used_at',
    isNumber: true,
    cell: ({ last_used_at }) => <Ago time={last_used_at} />,
  },
]

/** MCP clients that people have connected by signing in: one's own, or all of the project. */
export function ApplicationsPage() {
  const [revoking, setRevoking] = useState<ConnectedApplication>()
  const names = useAgentNames()
  const query = pageQuery(LIMIT, '-created_at')
  const applications = useResource(
    `applications ${JSON.stringify(query)}`,
    (signal) => service.applications.list(query, { signal }),
    { everyMs: 15_000 },
  )
  const columns = columnsOf((agent_id) => names.data?.get(agent_id) ?? agent_id)
  const revoke: Column<ConnectedApplication> = {
    title: '',
    isNumber: true,
    cell: (application) =>
      may('revokeConnectedApplication') && (
        <Button look="danger" onClick={() => setRevoking(application)}>
          Revoke
        </Button>
      ),
  }
  return (
    <Page
      title="Connected applications"
      api={{ operation: 'listConnectedApplications', method: 'applications.list', query }}
    >
      <List
        of={applications}
        label="Connected applications"
        columns={[...columns, revoke]}
        sort={query.sort}
        empty={
          <Empty title="No connected applications yet">
            <p>
              Add <code>/v1/mcp</code> on this service to claude.ai, ChatGPT, VS Code or another MCP client, and sign
              in.
            </p>
          </Empty>
        }
      />
      {revoking && (
        <Confirm
          title="Revoke application"
          action="Revoke application"
          isDanger
          onClose={() => setRevoking(undefined)}
          work={async () => {
            await service.applications.revoke(revoking.id)
            toast(`Application ${revoking.name} revoked`)
            applications.reload()
          }}
        >
          <p>
            <b>{revoking.name}</b> can't call agents any more. To use it again, connect it again.
          </p>
        </Confirm>
      )}
    </Page>
  )
}
