import { param, setParams } from '../../lib/location.ts'
import { openDialog } from '../../lib/open-dialog.ts'
import { may } from '../../lib/session-state.ts'
import { Button } from '../../ui/button.tsx'
import { Segments } from '../../ui/forms/field.tsx'
import { Page } from '../../ui/page.tsx'
import { ProvidersView } from './providers-view.tsx'
import { SecretsView } from './secrets-view.tsx'
import { ConnectionsView } from './sign-ins/connections-view.tsx'

const VIEWS = [
  {
    value: 'providers',
    label: 'Model providers',
    needs: 'listProviders',
    add: 'setProvider',
    action: 'New provider',
    api: { operation: 'listProviders', method: 'providers.list' },
    View: ProvidersView,
  },
  {
    value: 'secrets',
    label: 'Secrets',
    needs: 'listSecrets',
    add: 'setSecret',
    action: 'New secret',
    api: { operation: 'listSecrets', method: 'secrets.list' },
    View: SecretsView,
  },
  {
    value: 'sign-ins',
    label: 'Sign-ins',
    needs: 'listConnections',
    add: 'setConnection',
    action: 'New connection',
    api: { operation: 'listConnections', method: 'connections.list' },
    View: ConnectionsView,
  },
] as const

/** The external services that agents use: model providers, the secrets that tools send, and what users sign in to. */
export function ConnectionsPage() {
  const choices = VIEWS.filter(({ needs }) => may(needs))
  const chosen = choices.find(({ value }) => value === param('view')) ?? choices[0]
  if (!chosen) return null
  const { View, add, action, api } = chosen
  const actions = may(add) && (
    <Button look="main" icon="plus" onClick={() => openDialog('new')}>
      {action}
    </Button>
  )
  return (
    <Page title="Connections" actions={actions} api={api}>
      <div class="filters">
        <Segments
          label="View"
          value={chosen.value}
          choices={choices.map(({ value, label }) => ({ value, label }))}
          onChange={(view) =>
            setParams({ view: view === 'providers' ? undefined : view, offset: undefined }, { push: true })
          }
        />
      </div>
      <View />
    </Page>
  )
}
