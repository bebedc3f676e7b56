import type { ComponentType } from 'preact'
import type { OperationId } from '../sdk/call.ts'
import { projects } from './lib/projects/chosen-project.ts'
import { may, session } from './lib/session-state.ts'
import { AgentsPage } from './pages/agents/agents-page.tsx'
import type { IconName } from './ui/icon.tsx'

export type Params = Record<string, string>

export type PageComponent = ComponentType<{ params: Params }>

type Route = { path: string; load(): Promise<PageComponent> }

const pages = () => import('./pages/all-pages.ts')

/** Every page. The first one comes with the shell; the others are loaded together, when one of them is opened. */
const ROUTES: Route[] = [
  { path: '/', load: async () => AgentsPage },
  { path: '/agents', load: async () => AgentsPage },
  { path: '/agents/:agent', load: async () => (await pages()).PlaygroundPage },
  { path: '/agents/:agent/deployments', load: async () => (await pages()).DeploymentsPage },
  { path: '/agents/:agent/logs', load: async () => (await pages()).LogsPage },
  { path: '/agents/:agent/metrics', load: async () => (await pages()).MetricsPage },
  { path: '/agents/:agent/memory', load: async () => (await pages()).MemoryPage },
  { path: '/agents/:agent/settings', load: async () => (await pages()).SettingsPage },
  { path: '/agents/:agent/schedules', load: async () => (await pages()).SchedulesPage },
  { path: '/deployments/:deployment', load: async () => (await pages()).DeploymentPage },
  { path: '/activity', load: async () => (await pages()).ActivityPage },
  { path: '/activity/:request', load: async () => (await pages()).RequestPage },
  { path: '/approvals', load: async () => (await pages()).ApprovalsPage },
  { path: '/connections', load: async () => (await pages()).ConnectionsPage },
  { path: '/files', load: async () => (await pages()).FilesPage },
  { path: '/usage', load: async () => (await pages()).UsagePage },
  { path: '/usage/budgets', load: async () => (await pages()).BudgetsPage },
  { path: '/system', load: async () => (await pages()).SystemPage },
  { path: '/webhooks', load: async () => (await pages()).WebhooksPage },
  { path: '/webhooks/:webhook', load: async () => (await pages()).WebhookPage },
  { path: '/webhooks/:webhook/:delivery', load: async () => (await pages()).DeliveryPage },
  { path: '/deliveries/:delivery', load: async () => (await pages()).FoundDeliveryPage },
  { path: '/keys', load: async () => (await pages()).KeysPage },
  { path: '/projects', load: async () => (await pages()).ProjectsPage },
  { path: '/people', load: async () => (await pages()).PeoplePage },
  { path: '/people/:person', load: async () => (await pages()).PersonPage },
  { path: '/keys/:key', load: async () => (await pages()).KeyPage },
]

type Entry = { label: string; icon: IconName; to: string; needs: OperationId; isUsed?(): boolean }

/** A service that uses no projects, or no people, does not speak of them. */
const hasProjects = () => projects.value.length > 0
const hasPeople = () => session.value?.has_people ?? false

/** The sidebar. An entry whose operation the reader may not call is not shown. */
const ENTRIES: Entry[] = [
  { label: 'Agents', icon: 'agents', to: '/', needs: 'listAgents' },
  { label: 'Activity', icon: 'activity', to: '/activity', needs: 'listAllInvocations' },
  { label: 'Approvals', icon: 'approvals', to: '/approvals', needs: 'listApprovals' },
  { label: 'Usage', icon: 'usage', to: '/usage', needs: 'getUsage' },
  { label: 'Files', icon: 'files', to: '/files', needs: 'listFiles' },
  { label: 'Webhooks', icon: 'webhooks', to: '/webhooks', needs: 'listWebhooks' },
  { label: 'Connections', icon: 'connections', to: '/connections', needs: 'listProviders' },
  { label: 'Keys', icon: 'keys', to: '/keys', needs: 'listKeys' },
  { label: 'My keys', icon: 'keys', to: '/keys', needs: 'listPersonalKeys', isUsed: () => !may('listKeys') },
  { label: 'People', icon: 'people', to: '/people', needs: 'listPeople', isUsed: hasPeople },
  { label: 'Projects', icon: 'projects', to: '/projects', needs: 'createProject', isUsed: hasProjects },
  { label: 'System', icon: 'system', to: '/system', needs: 'listAuditLog' },
]

export function shownEntries(): Entry[] {
  return ENTRIES.filter(({ needs, isUsed }) => may(needs) && (isUsed?.() ?? true))
}

export type Match = { route: Route; params: Params }

export function matchRoute(path: string): Match | undefined {
  for (const route of ROUTES) {
    const params = matchPath(route.path, path)
    if (params) return { route, params }
  }
  return undefined
}

/** `/agents/:agent` takes `/agents/hello` apart. */
function matchPath(pattern: string, path: string): Params | undefined {
  const expected = pattern.split('/')
  const given = path.replace(/(.)\/$/, '$1').split('/')
  if (expected.length !== given.length) return undefined
  const params: Params = {}
  for (const [i, part] of expected.entries()) {
    const value = given[i] ?? ''
    if (part.startsWith(':') && value) params[part.slice(1)] = decoded(value)
    else if (part !== value) return undefined
  }
  return params
}

/** A person may have typed the address: a stray `%` is taken as it is. */
function decoded(value: string): string {
  try {
    return decodeURIComponent(value)
  } catch {
    return value
  }
}
