import { param, setParams } from '../../lib/location.ts'
import { closeDialog, openDialog, openedDialog } from '../../lib/open-dialog.ts'
import { pauseState } from '../../lib/projects/pause-state.ts'
import { may } from '../../lib/session-state.ts'
import { Button } from '../../ui/button.tsx'
import { PauseEverything } from '../../ui/dialogs/pause-everything.tsx'
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

/** The service itself: its state, its audit log, its sessions and its settings. */
export function SystemPage() {
  const choices = VIEWS.filter(({ needs }) => may(needs))
  const chosen = choices.find(({ value }) => value === param('view')) ?? choices[0]
  if (!chosen) return null
  const { View } = chosen
  const mayPause = may('beginPause') && !pauseState.value?.paused
  const actions = mayPause && (
    <Button icon="pause" onClick={() => openDialog('pause')}>
      Pause everything …
    </Button>
  )
  return (
    <Page title="System" actions={actions} api={{ operation: 'getSystem', method: 'system.get' }}>
      <div class="filters">
        <Segments
          label="View"
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
      {openedDialog() === 'pause' && mayPause && <PauseEverything onClose={closeDialog} />}
    </Page>
  )
}
