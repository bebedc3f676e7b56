import { useState } from 'preact/hooks'
import type { Secret } from '../../../sdk/client.ts'
import { closeDialog, openDialog, openedDialog } from '../../lib/open-dialog.ts'
import { pageQuery } from '../../lib/page-query.ts'
import { useResource } from '../../lib/resource.ts'
import { service } from '../../lib/service.ts'
import { may } from '../../lib/session-state.ts'
import { toast } from '../../lib/toasts.ts'
import { Button } from '../../ui/button.tsx'
import { List } from '../../ui/data/list.tsx'
import type { Column } from '../../ui/data/table.tsx'
import { Ago } from '../../ui/data/time.tsx'
import { Confirm } from '../../ui/dialogs/confirm.tsx'
import { Empty } from '../../ui/empty.tsx'
import { SecretDialog } from './secret-dialog.tsx'

/** The secrets that tools send in headers. Names and hosts are shown, but never values. */
export function SecretsView() {
  const query = pageQuery(25, 'name')
  const [edited, setEdited] = useState<Secret | undefined>(undefined)
  const [leaving, setLeaving] = useState<Secret | undefined>(undefined)
  const secrets = useResource(`secrets ${JSON.stringify(query)}`, (signal) =>
    service.secrets.list(query as { sort: 'name' }, { signal }),
  )
  const columns: Column<Secret>[] = [
    { title: 'Name', sort: 'name', cell: ({ name }) => <code>{name}</code> },
    { title: 'Sent to', cell: ({ hosts }) => hosts.join(', ') },
    {
      title: 'Changed',
      sort: 'updated_at',
      isNumber: true,
      isExtra: true,
      cell: ({ updated_at }) => <Ago time={updated_at} />,
    },
    {
      title: '',
      isNumber: true,
      cell: (secret) => (
        <span class="cell-actions">
          {secret.overridden && <span class="soft">moorage.yaml overrides it</span>}
          {may('setSecret') && (
            <Button look="quiet" icon="edit" label={`Change ${secret.name}`} onClick={() => setEdited(secret)} />
          )}
          {may('deleteSecret') && (
            <Button look="quiet" icon="close" label={`Delete ${secret.name}`} onClick={() => setLeaving(secret)} />
          )}
        </span>
      ),
    },
  ]
  const close = () => {
    setEdited(undefined)
    closeDialog()
  }
  return (
    <>
      <List
        of={secrets}
        label="Secrets"
        columns={columns}
        keyOf={({ name }) => name}
        sort={query.sort}
        empty={<NoSecrets />}
      />
      {may('setSecret') && (openedDialog() === 'new' || edited) && (
        <SecretDialog key={edited?.name} secret={edited} onClose={close} onSaved={secrets.reload} />
      )}
      {leaving && (
        <Confirm
          title="Delete secret"
          action="Delete secret"
          isDanger
          onClose={() => setLeaving(undefined)}
          work={async () => {
            await service.secrets.delete(leaving.name)
            toast(`${leaving.name} deleted`)
            secrets.reload()
          }}
        >
          <p>
            Tools that use <code>{leaving.name}</code> will fail from their next call.
          </p>
        </Confirm>
      )}
    </>
  )
}

function NoSecrets() {
  return (
    <Empty title="No secrets yet">
      <p>
        A tool sends a secret in a header: <code>{'Bearer {{secret.NAME}}'}</code>. The model never sees the secret, and
        it is sent only to the hosts you list.
      </p>
      {may('setSecret') && (
        <p>
          <Button look="main" icon="plus" onClick={() => openDialog('new')}>
            Add secret
          </Button>
        </p>
      )}
    </Empty>
  )
}
