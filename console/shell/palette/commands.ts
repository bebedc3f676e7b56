import type { OperationId } from '../../../sdk/call.ts'
import type { Agent } from '../../../sdk/client.ts'
import { resume } from '../../lib/agents/pause.ts'
import { agentPath } from '../../lib/paths.ts'
import { projects } from '../../lib/projects/chosen-project.ts'
import { recall } from '../../lib/resource-cache.ts'
import { service } from '../../lib/service.ts'
import { signOut } from '../../lib/session.ts'
import { may, session } from '../../lib/session-state.ts'
import { chooseTheme, theme } from '../../lib/theme.ts'
import { toast } from '../../lib/toasts.ts'
import type { IconName } from '../../ui/icon.tsx'

/** Something that the palette offers: a page to go to, or a command to run. */
export type Target = { id: string; label: string; about?: string; icon: IconName; to?: string; run?(): void }

/** A command that opens a page with a dialog: the same one that a button of the page opens. */
type PageCommand = { label: string; icon: IconName; needs: OperationId; to: string; isUsed?(): boolean }

const OF_SERVICE: PageCommand[] = [
  { label: 'New agent', icon: 'plus', needs: 'createAgent', to: '/?open=agent' },
  { label: 'New key', icon: 'plus', needs: 'createKey', to: '/keys?open=key' },
  {
    label: 'New personal key',
    icon: 'plus',
    needs: 'createPersonalKey',
    to: '/keys?view=own&open=key',
  },
  {
    label: 'Invite person',
    icon: 'plus',
    needs: 'createInvitation',
    to: '/people?open=invite',
    isUsed: () => session.value?.has_people ?? false,
  },
  { label: 'Pause everything', icon: 'pause', needs: 'beginPause', to: '/system?open=pause' },
  { label: 'New budget', icon: 'plus', needs: 'createBudget', to: '/usage/budgets?open=budget' },
  { label: 'Upload files', icon: 'plus', needs: 'createFile', to: '/files?open=upload' },
  { label: 'New webhook', icon: 'plus', needs: 'createWebhook', to: '/webhooks?open=webhook' },
]

/** `to` is the tab of the agent. */
const OF_AGENT: PageCommand[] = [
  { label: 'Invoke', icon: 'send', needs: 'invokeAgent', to: '' },
  { label: 'Deploy', icon: 'send', needs: 'createDeployment', to: 'deployments?open=deploy' },
  { label: 'Roll back', icon: 'undo', needs: 'rollbackDeployment', to: 'deployments?open=rollback' },
  { label: 'New schedule', icon: 'clock', needs: 'createSchedule', to: 'schedules?open=schedule' },
  { label: 'Move to another project', icon: 'right', needs: 'moveAgent', to: 'settings?open=move' },
  { label: 'Delete agent', icon: 'close', needs: 'deleteAgent', to: 'settings?open=delete' },
]

/** What can be done with the service, whichever page is open. */
export function serviceCommands(): Target[] {
  const other = theme.value === 'dark' ? 'light' : 'dark'
  return [
    ...OF_SERVICE.filter(({ needs, isUsed }) => may(needs) && (isUsed?.() ?? true)).map(({ label, icon, to }) => ({
      id: label,
      label,
      icon,
      to,
    })),
    { id: 'theme', label: `Use ${other} colors`, icon: 'theme', run: () => chooseTheme(other) },
    { id: 'sign out', label: 'Sign out', icon: 'out', run: () => void signOut() },
  ]
}

/** A service that uses no projects does not speak of them, so this is offered to those who look for it only. */
export function projectCommands(): Target[] {
  if (!may('createProject')) return []
  return [{ id: 'New project', label: 'New project', icon: 'plus', to: '/projects?open=project' }]
}

/** What can be done with one agent. */
export function agentCommands(name: string): Target[] {
  const offered = OF_AGENT.filter(({ needs }) => may(needs) && (needs !== 'moveAgent' || projects.value.length > 0))
  const opening = offered.map(({ label, icon, to }) => ({
    id: `${name} ${label}`,
    label: `${name} › ${label}`,
    icon,
    to: agentPath(name, to),
  }))
  return may('updateAgent') ? [...opening, ...pausing(name)] : opening
}

/** A pause is asked about on the agent's page. Both are offered if the console does not know the agent's state. */
function pausing(name: string): Target[] {
  const status = (recall(`agent ${name}`) as Agent | undefined)?.status
  const targets: Target[] = []
  if (status !== 'paused') {
    const to = agentPath(name, 'settings?open=pause')
    targets.push({ id: `${name} pause`, label: `${name} › Pause`, icon: 'pause', to })
  }
  if (status !== 'running') {
    targets.push({ id: `${name} resume`, label: `${name} › Resume`, icon: 'play', run: () => void resumeByName(name) })
  }
  return targets
}

async function resumeByName(name: string): Promise<void> {
  try {
    await resume(await service.agents.get(name))
  } catch (error) {
    toast(`${name}: ${(error as Error).message}`)
  }
}
