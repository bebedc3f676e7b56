import { useState } from 'preact/hooks'
import type { Provider } from '../../../sdk/client.ts'
import { closeDialog, openDialog, openedDialog } from '../../lib/open-dialog.ts'
import { pageQuery } from '../../lib/page-query.ts'
import { useResource } from '../../lib/resource.ts'
import { service } from '../../lib/service.ts'
import { may } from '../../lib/session-state.ts'
import { toast } from '../../lib/toasts.ts'
import { Button } from '../../ui/button.tsx'
import { List } from '../../ui/data/list.tsx'
import type { Column } from '../../ui/data/table.tsx'
import { Confirm } from '../../ui/dialogs/confirm.tsx'
import { Empty } from '../../ui/empty.tsx'
import { ProviderDialog } from './provider-dialog.tsx'
import { ProviderState } from './provider-state.tsx'

/** The providers of the agents' models. */
export function ProvidersView() {
  const query = pageQuery(25, 'name')
  const [edited, setEdited] = useState<Provider | undefined>(undefined)
  const [leaving, setLeaving] = useState<Provider | undefined>(undefined)
  const providers = useResource(`providers ${query.offset}`, (signal) =>
    service.providers.list({ limit: query.limit, offset: query.offset }, { signal }),
  )
  const columns: Column<Provider>[] = [
    { title: 'Name', cell: ({ name }) => <b>{name}</b> },
    { title: 'URL', isExtra: true, cell: ({ base_url, type }) => base_url ?? `${type}: the vendor's own URL` },
    { title: 'Key', isExtra: true, cell: ({ has_key }) => (has_key ? 'set' : 'none') },
    { title: 'State', cell: (provider) => <ProviderState key={provider.updated_at} name={provider.name} /> },
    {
      title: '',
      isNumber: true,
      cell: (provider) => <Actions provider={provider} onEdit={setEdited} onDelete={setLeaving} />,
    },
  ]
  const close = () => {
    setEdited(undefined)
    closeDialog()
  }
  return (
    <>
      <List
        of={providers}
        label="Model providers"
        columns={columns}
        keyOf={({ name }) => name}
        empty={<NoProviders />}
      />
      {may('setProvider') && (openedDialog() === 'new' || edited) && (
        <ProviderDialog key={edited?.name} provider={edited} onClose={close} onSaved={providers.reload} />
      )}
      {leaving && (
        <Confirm
          title="Delete provider"
          action="Delete provider"
          isDanger
          onClose={() => setLeaving(undefined)}
          work={async () => {
            await service.providers.delete(leaving.name)
            toast(`${leaving.name} deleted`)
            providers.reload()
          }}
        >
          <p>
            Agents whose model starts with <code>{leaving.name}/</code> will fail from their next run.
          </p>
        </Confirm>
      )}
    </>
  )
}

type ActionsProps = { provider: Provider; onEdit(provider: Provider): void; onDelete(provider: Provider): void }

function Actions({ provider, onEdit, onDelete }: ActionsProps) {
  if (provider.source === 'configuration' && !provider.overridden) return <span class="soft">in moorage.yaml</span>
  return (
    <span class="cell-actions">
      {provider.source === 'configuration' ? (
        <span class="soft">moorage.yaml overrides what was set here</span>
      ) : (
        may('setProvider') && (
          <Button look="quiet" icon="edit" label={`Change ${provider.name}`} onClick={() => onEdit(provider)} />
        )
      )}
      {may('deleteProvider') && (
        <Button look="quiet" icon="close" label={`Delete ${provider.name}`} onClick={() => onDelete(provider)} />
      )}
    </span>
  )
}

function NoProviders() {
  return (
    <Empty title="No model providers yet">
      <p>
        A provider gives access to models: OpenAI, Anthropic, or any OpenAI-compatible server, such as Ollama, vLLM or a
        gateway. Agents refer to a model as <code>provider/model</code>.
      </p>
      {may('setProvider') && (
        <p>
          <Button look="main" icon="plus" onClick={() => openDialog('new')}>
            Add provider
          </Button>
        </p>
      )}
    </Empty>
  )
}
