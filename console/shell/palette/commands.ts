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

/** Something that the palette offers: a page to open, or a command to run. */
export type Target = { id: string; label: string; about?: string; icon: IconName; to?: string; run?(): void }

/** A command that opens a page with a dialog, as a button on that page does. */
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
  { label: 'New connection', icon: 'plus', needs: 'setConnection', to: '/connections?view=sign-ins&open=new' },
  { label: 'New webhook', icon: 'plus', needs: 'createWebhook', to: '/webhooks?open=webhook' },
]

/** `to` is the agent's tab. */
const OF_AGENT: PageCommand[] = [
  { label: 'Invoke', icon: 'send', needs: 'invokeAgent', to: '' },
  { label: 'Deploy', icon: 'send', needs: 'createDeployment', to: 'deployments?open=deploy' },
  { label: 'Roll back', icon: 'undo', needs: 'rollbackDeployment', to: 'deployments?open=rollback' },
  { label: 'New schedule', icon: 'clock', needs: 'createSchedule', to: 'schedules?open=schedule' },
  { label: 'New trigger', icon: 'webhooks', needs: 'createTrigger', to: 'triggers?open=trigger' },
  { label: 'Move to another project', icon: 'right', needs: 'moveAgent', to: 'settings?open=move' },
  { label: 'Delete agent', icon: 'close', needs: 'deleteAgent', to: 'settings?open=delete' },
]

/** Commands for the service, offered on every page. */
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

/** A service that doesn't use projects doesn't mention them, so this is offered only to people who search for it. */
export function projectCommands(): Target[] {
  if (!may('createProject')) return []
  return [{ id: 'New project', label: 'New project', icon: 'plus', to: '/projects?open=project' }]
}

/** Commands for one agent. */
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

/** Pausing is confirmed on the agent's page. If the agent's status isn't known here, both commands are offered. */
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
