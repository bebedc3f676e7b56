import { useState } from 'preact/hooks'
import type { Key, KeyWithSecret } from '../../../sdk/client.ts'
import { useAgentNames } from '../../lib/agents/agent-names.ts'
import { href } from '../../lib/base.ts'
import { go, param, setParams } from '../../lib/location.ts'
import { closeDialog, openDialog, openedDialog } from '../../lib/open-dialog.ts'
import { pageQuery } from '../../lib/page-query.ts'
import { projects } from '../../lib/projects/chosen-project.ts'
import { useResource } from '../../lib/resource.ts'
import { service } from '../../lib/service.ts'
import { may, session } from '../../lib/session-state.ts'
import { toast } from '../../lib/toasts.ts'
import { Button } from '../../ui/button.tsx'
import { List } from '../../ui/data/list.tsx'
import { Status } from '../../ui/data/status.tsx'
import type { Column } from '../../ui/data/table.tsx'
import { Ago } from '../../ui/data/time.tsx'
import { Who } from '../../ui/data/who.tsx'
import { Confirm } from '../../ui/dialogs/confirm.tsx'
import { SecretOnce } from '../../ui/dialogs/secret-once.tsx'
import { Empty } from '../../ui/empty.tsx'
import { Segments } from '../../ui/forms/field.tsx'
import { ChoiceFilter } from '../../ui/forms/filter.tsx'
import { Page } from '../../ui/page.tsx'
import { CreateKeyDialog } from './create-key-dialog.tsx'

const LIMIT = 25

/** Mentioned only if there are other projects. */
const isOfAllProjects = (project_id: string | null) => project_id === null && projects.value.length > 0

const columnsOf = (nameOf: (agent_id: string) => string, isOwn: boolean): Column<Key>[] => [
  {
    title: 'Key',
    sort: 'name',
    cell: ({ id, name }) => (
      <>
        {may('getKey') ? <a href={href(`/keys/${id}`)}>{name}</a> : name}
        {id === session.value?.actor_id && <span class="soft"> you</span>}
      </>
    ),
  },
  ...(session.value?.has_people && !isOwn ? [OWNER] : []),
  { title: 'Status', cell: ({ status }) => <Status value={status} /> },
  { title: 'Permissions', isExtra: true, cell: ({ permissions }) => permissions.join(', ') },
  {
    title: 'Agent',
    isExtra: true,
    cell: ({ agent_id, project_id }) =>
      agent_id ? nameOf(agent_id) : isOfAllProjects(project_id) ? 'all projects' : 'all agents',
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

/** If people can create personal keys, each key shows its owner. */
const OWNER: Column<Key> = {
  title: 'Owner',
  cell: ({ person_id, person_name }) =>
    person_id ? <Who id={person_id} name={person_name} /> : <span class="soft">a service</span>,
}

const VIEWS = [
  { value: 'all', label: 'All keys' },
  { value: 'own', label: 'My keys' },
]

/** The project's keys, and people's personal keys. */
export function KeysPage() {
  const hasChoice = may('listKeys') && may('listPersonalKeys')
  const isOwn = !may('listKeys') || (hasChoice && param('view') === 'own')
  return <KeysView key={isOwn} isOwn={isOwn} hasChoice={hasChoice} />
}

function KeysView({ isOwn, hasChoice }: { isOwn: boolean; hasChoice: boolean }) {
  const [created, setCreated] = useState<KeyWithSecret>()
  const [revoking, setRevoking] = useState<Key>()
  const query = {
    ...pageQuery(LIMIT, '-created_at'),
    status: param('status') as Key['status'] | undefined,
  }
  const names = useAgentNames()
  const keys = useResource(
    `keys ${isOwn} ${JSON.stringify(query)}`,
    (signal) => (isOwn ? service.people.personalKeys(query, { signal }) : service.keys.list(query, { signal })),
    { everyMs: 15_000 },
  )
  const mayCreate = may(isOwn ? 'createPersonalKey' : 'createKey')
  const columns = columnsOf((agent_id) => names.data?.get(agent_id) ?? agent_id, isOwn)
  return (
    <Page
      title={isOwn ? 'My keys' : 'Keys'}
      api={
        isOwn
          ? { operation: 'listPersonalKeys', method: 'people.personalKeys', query }
          : { operation: 'listKeys', method: 'keys.list', query }
      }
      actions={
        mayCreate && (
          <Button look="main" icon="plus" onClick={() => openDialog('key')}>
            New key
          </Button>
        )
      }
    >
      <div class="filters">
        {hasChoice && (
          <Segments
            label="View"
            value={isOwn ? 'own' : 'all'}
            choices={VIEWS}
            onChange={(view) =>
              setParams({ view: view === 'own' ? view : undefined, offset: undefined }, { push: true })
            }
          />
        )}
        <ChoiceFilter name="status" label="Status" all="All statuses" choices={['active', 'expired', 'revoked']} />
      </div>
      <List
        of={keys}
        label="Keys"
        columns={isOwn ? [...columns, revokeColumn(setRevoking)] : columns}
        sort={query.sort}
        empty={
          <Empty title="No keys yet" filters={['status']}>
            {isOwn && (
              <p>Use a personal key in your own programs and the CLI. It never has more permissions than you do.</p>
            )}
          </Empty>
        }
      />
      {openedDialog() === 'key' && mayCreate && (
        <CreateKeyDialog
          isOwn={isOwn}
          onClose={closeDialog}
          onCreated={(key) => {
            closeDialog()
            setCreated(key)
          }}
        />
      )}
      {created && (
        <SecretOnce
          title={`${created.name}: secret`}
          secret={created.secret}
          variable="MOORAGE_API_KEY"
          onDone={() => {
            setCreated(undefined)
            if (isOwn) keys.reload()
            else go(`/keys/${created.id}`)
          }}
        />
      )}
      {revoking && <RevokeOwn of={revoking} onClose={() => setRevoking(undefined)} onDone={keys.reload} />}
    </Page>
  )
}

const revokeColumn = (onRevoke: (key: Key) => void): Column<Key> => ({
  title: '',
  isNumber: true,
  cell: (key) =>
    key.status === 'active' && (
      <Button look="danger" onClick={() => onRevoke(key)}>
        Revoke
      </Button>
    ),
})

function RevokeOwn({ of: { id, name }, onClose, onDone }: { of: Key; onClose(): void; onDone(): void }) {
  return (
    <Confirm
      title="Revoke key"
      action="Revoke key"
      isDanger
      onClose={onClose}
      work={async () => {
        await service.people.revokePersonalKey(id)
        toast(`Key ${name} revoked`)
        onDone()
      }}
    >
      <p>
        <b>{name}</b> stops working immediately. This can't be undone.
      </p>
    </Confirm>
  )
}
