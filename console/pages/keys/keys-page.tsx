import { useState } from 'preact/hooks'
import type { Key, KeyWithSecret } from '../../../sdk/client.ts'
import { useAgentNames } from '../../lib/agents/agent-names.ts'
import { href } from '../../lib/base.ts'
import { go, param } from '../../lib/location.ts'
import { closeDialog, openDialog, openedDialog } from '../../lib/open-dialog.ts'
import { pageQuery } from '../../lib/page-query.ts'
import { projects } from '../../lib/projects/chosen-project.ts'
import { useResource } from '../../lib/resource.ts'
import { service } from '../../lib/service.ts'
import { may, session } from '../../lib/session-state.ts'
import { Button } from '../../ui/button.tsx'
import { List } from '../../ui/data/list.tsx'
import { Status } from '../../ui/data/status.tsx'
import type { Column } from '../../ui/data/table.tsx'
import { Ago } from '../../ui/data/time.tsx'
import { SecretOnce } from '../../ui/dialogs/secret-once.tsx'
import { Empty } from '../../ui/empty.tsx'
import { ChoiceFilter } from '../../ui/forms/filter.tsx'
import { Page } from '../../ui/page.tsx'
import { CreateKeyDialog } from './create-key-dialog.tsx'

const LIMIT = 25

/** It is said only where there are others. */
const isOfAllProjects = (project_id: string | null) => project_id === null && projects.value.length > 0

const columnsOf = (nameOf: (agent_id: string) => string): Column<Key>[] => [
  {
    title: 'Key',
    sort: 'name',
    cell: ({ id, name }) => (
      <>
        <a href={href(`/keys/${id}`)}>{name}</a>
        {id === session.value?.key.id && <span class="soft"> you</span>}
      </>
    ),
  },
  { title: 'Status', cell: ({ status }) => <Status value={status} /> },
  { title: 'May', isExtra: true, cell: ({ permissions }) => permissions.join(', ') },
  {
    title: 'Agent',
    isExtra: true,
    cell: ({ agent_id, project_id }) =>
      agent_id ? nameOf(agent_id) : isOfAllProjects(project_id) ? 'all projects' : 'every agent',
  },
  { title: 'Tier', isExtra: true, cell: ({ tier }) => tier },
  { title: 'Hint', isExtra: true, cell: ({ hint }) => <code class="soft">{hint}</code> },
  {
    title: 'Last used',
    sort: 'last_used_at',
    isNumber: true,
    cell: ({ last_used_at }) => <Ago time={last_used_at} />,
  },
]

export function KeysPage() {
  const [created, setCreated] = useState<KeyWithSecret>()
  const query = {
    ...pageQuery(LIMIT, '-created_at'),
    status: param('status') as Key['status'] | undefined,
  }
  const names = useAgentNames()
  const keys = useResource(`keys ${JSON.stringify(query)}`, (signal) => service.keys.list(query, { signal }), {
    everyMs: 15_000,
  })
  const create = may('createKey') && (
    <Button look="main" icon="plus" onClick={() => openDialog('key')}>
      New key
    </Button>
  )
  return (
    <Page title="Keys" actions={create} api={{ operation: 'listKeys', method: 'keys.list', query }}>
      <div class="filters">
        <ChoiceFilter name="status" label="Status" all="Every status" choices={['active', 'expired', 'revoked']} />
      </div>
      <List
        of={keys}
        label="Keys"
        columns={columnsOf((agent_id) => names.data?.get(agent_id) ?? agent_id)}
        keyOf={({ id }) => id}
        sort={query.sort}
        empty={<Empty title="No key fits these filters" />}
      />
      {openedDialog() === 'key' && may('createKey') && (
        <CreateKeyDialog
          onClose={closeDialog}
          onCreated={(key) => {
            closeDialog()
            setCreated(key)
          }}
        />
      )}
      {created && (
        <SecretOnce
          title={`The secret of ${created.name}`}
          secret={created.secret}
          variable="MOORAGE_API_KEY"
          onDone={() => go(`/keys/${created.id}`)}
        />
      )}
    </Page>
  )
}
