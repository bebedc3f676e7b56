import { param, setParams } from '../../lib/location.ts'
import { may } from '../../lib/session-state.ts'
import { Segments } from '../../ui/forms/field.tsx'
import { Page } from '../../ui/page.tsx'
import { AuditView } from './audit-view.tsx'
import { SessionsView } from './sessions-view.tsx'
import { SettingsView } from './settings-view.tsx'
import { StateView } from './state-view.tsx'

const VIEWS = [
  { value: 'state', label: 'State', needs: 'getSystem', View: StateView },
  { value: 'audit', label: 'Audit log', needs: 'listAuditLog', View: AuditView },
  { value: 'sessions', label: 'Sessions', needs: 'listConsoleSessions', View: SessionsView },
  { value: 'settings', label: 'Configuration', needs: 'getSystem', View: SettingsView },
] as const

/** The service itself: how it is, who did what, who is signed in, how it is set up. */
export function SystemPage() {
  const choices = VIEWS.filter(({ needs }) => may(needs))
  const chosen = choices.find(({ value }) => value === param('view')) ?? choices[0]
  if (!chosen) return null
  const { View } = chosen
  return (
    <Page title="System" api={{ operation: 'getSystem', method: 'system.get' }}>
      <div class="filters">
        <Segments
          label="Show"
          value={chosen.value}
          choices={choices.map(({ value, label }) => ({ value, label }))}
          onChange={(view) =>
            setParams(
              { view: view === 'state' ? undefined : view, offset: undefined, sort: undefined, outcome: undefined },
              { push: true },
            )
          }
        />
      </div>
      <View />
    </Page>
  )
}
