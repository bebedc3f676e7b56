import { type ComponentType, h } from 'preact'
import type { OperationId } from '../sdk/call.ts'
import { projects } from './lib/projects/chosen-project.ts'
import { may, session } from './lib/session-state.ts'
import { AgentsPage } from './pages/agents/agents-page.tsx'
import type { IconName } from './ui/icon.tsx'

export type Params = Record<string, string>

export type PageComponent = ComponentType<{ params: Params }>

/** A page, and the operations that it `needs`. If the reader may call none of them, it has nothing to show. */
type Route = { path: string; needs: OperationId[]; load(): Promise<PageComponent> }

const pages = () => import('./pages/all-pages.ts')

const HomePage = () => h(AgentsPage, { loadForm: async () => (await pages()).CreateDialog })

/** All pages. The first one is loaded with the shell. The others are loaded together, when one of them is opened. */
const ROUTES: Route[] = [
  { path: '/', needs: ['listOverview'], load: async () => HomePage },
  { path: '/agents', needs: ['listOverview'], load: async () => HomePage },
  { path: '/agents/:agent', needs: ['getAgent'], load: async () => (await pages()).PlaygroundPage },
  { path: '/agents/:agent/deployments', needs: ['listDeployments'], load: async () => (await pages()).DeploymentsPage },
  { path: '/agents/:agent/logs', needs: ['getLogs'], load: async () => (await pages()).LogsPage },
  { path: '/agents/:agent/metrics', needs: ['getPerformance'], load: async () => (await pages()).MetricsPage },
  { path: '/agents/:agent/memory', needs: ['listMemory'], load: async () => (await pages()).MemoryPage },
  { path: '/agents/:agent/settings', needs: ['getAgent'], load: async () => (await pages()).SettingsPage },
  { path: '/agents/:agent/schedules', needs: ['listSchedules'], load: async () => (await pages()).SchedulesPage },
  { path: '/agents/:agent/triggers', needs: ['listTriggers'], load: async () => (await pages()).TriggersPage },
  { path: '/agents/:agent/triggers/:trigger', needs: ['getTrigger'], load: async () => (await pages()).TriggerPage },
  { path: '/agents/:agent/share', needs: ['listLinks'], load: async () => (await pages()).SharePage },
  { path: '/agents/:agent/replays', needs: ['listReplays'], load: async () => (await pages()).ReplaysPage },
  { path: '/agents/:agent/replays/:replay', needs: ['getReplay'], load: async () => (await pages()).ReplayPage },
  { path: '/deployments/:deployment', needs: ['findDeployment'], load: async () => (await pages()).DeploymentPage },
  { path: '/activity', needs: ['listAllInvocations'], load: async () => (await pages()).ActivityPage },
  { path: '/activity/:request', needs: ['listAllInvocations'], load: async () => (await pages()).RequestPage },
  { path: '/approvals', needs: ['listApprovals'], load: async () => (await pages()).ApprovalsPage },
  { path: '/feedback', needs: ['listFeedback'], load: async () => (await pages()).FeedbackPage },
  {
    path: '/connections',
    needs: ['listProviders', 'listSecrets', 'listConnections'],
    load: async () => (await pages()).ConnectionsPage,
  },
  { path: '/connections/:connection', needs: ['getConnection'], load: async () => (await pages()).ConnectionPage },
  { path: '/files', needs: ['listFiles'], load: async () => (await pages()).FilesPage },
  { path: '/usage', needs: ['getUsage'], load: async () => (await pages()).UsagePage },
  { path: '/usage/budgets', needs: ['listBudgets'], load: async () => (await pages()).BudgetsPage },
  { path: '/usage/prices', needs: ['listPrices'], load: async () => (await pages()).PricesPage },
  {
    path: '/system',
    needs: ['getSystem', 'listAuditLog', 'listConsoleSessions'],
    load: async () => (await pages()).SystemPage,
  },
  { path: '/webhooks', needs: ['listWebhooks'], load: async () => (await pages()).WebhooksPage },
  { path: '/webhooks/:webhook', needs: ['getWebhook'], load: async () => (await pages()).WebhookPage },
  { path: '/webhooks/:webhook/:delivery', needs: ['getDelivery'], load: async () => (await pages()).DeliveryPage },
  { path: '/deliveries/:delivery', needs: ['findDelivery'], load: async () => (await pages()).FoundDeliveryPage },
  { path: '/keys', needs: ['listKeys', 'listPersonalKeys'], load: async () => (await pages()).KeysPage },
  { path: '/projects', needs: ['createProject'], load: async () => (await pages()).ProjectsPage },
  { path: '/people', needs: ['listPeople'], load: async () => (await pages()).PeoplePage },
  { path: '/people/:person', needs: ['getPerson'], load: async () => (await pages()).PersonPage },
  {
    path: '/applications',
    needs: ['listConnectedApplications'],
    load: async () => (await pages()).ApplicationsPage,
  },
  { path: '/keys/:key', needs: ['getKey'], load: async () => (await pages()).KeyPage },
]

/** `isFirst` entries are in the bar on a phone, which has room for four and a menu with the others. */
export type Entry = {
  label: string
  icon: IconName
  to: string
  needs: OperationId
  isFirst?: boolean
  isUsed?(): boolean
}

/** A service that doesn't use projects or people doesn't mention them. */
const hasProjects = () => projects.value.length > 0
const hasPeople = () => session.value?.has_people ?? false

/** The sidebar's groups. An entry is hidden if the reader may not call its operation. */
const GROUPS: Entry[][] = [
  [
    { label: 'Agents', icon: 'agents', to: '/', needs: 'listOverview', isFirst: true },
    { label: 'Activity', icon: 'activity', to: '/activity', needs: 'listAllInvocations', isFirst: true },
    { label: 'Approvals', icon: 'approvals', to: '/approvals', needs: 'listApprovals', isFirst: true },
    { label: 'Feedback', icon: 'feedback', to: '/feedback', needs: 'listFeedback' },
  ],
  [
    { label: 'Connections', icon: 'connections', to: '/connections', needs: 'listProviders' },
    { label: 'Files', icon: 'files', to: '/files', needs: 'listFiles' },
    { label: 'Webhooks', icon: 'webhooks', to: '/webhooks', needs: 'listWebhooks' },
  ],
  [{ label: 'Usage', icon: 'usage', to: '/usage', needs: 'getUsage', isFirst: true }],
  [
    { label: 'Keys', icon: 'keys', to: '/keys', needs: 'listKeys' },
    { label: 'My keys', icon: 'keys', to: '/keys', needs: 'listPersonalKeys', isUsed: () => !may('listKeys') },
    { label: 'Applications', icon: 'applications', to: '/applications', needs: 'listConnectedApplications' },
    { label: 'People', icon: 'people', to: '/people', needs: 'listPeople', isUsed: hasPeople },
    { label: 'Projects', icon: 'projects', to: '/projects', needs: 'createProject', isUsed: hasProjects },
    { label: 'System', icon: 'system', to: '/system', needs: 'getSystem' },
  ],
]

export function shownGroups(): Entry[][] {
  return GROUPS.map((group) => group.filter(({ needs, isUsed }) => may(needs) && (isUsed?.() ?? true))).filter(
    ({ length }) => length > 0,
  )
}

export function shownEntries(): Entry[] {
  return shownGroups().flat()
}

export type Match = { route: Route; params: Params }

export function matchRoute(path: string): Match | undefined {
  for (const route of ROUTES) {
    const params = matchPath(route.path, path)
    if (params) return { route, params }
  }
  return undefined
}

/** Matches a path: `/agents/:agent` matches `/agents/hello`. */
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

/** A person may have typed the URL, so a stray `%` is taken literally. */
function decoded(value: string): string {
  try {
    return decodeURIComponent(value)
  } catch {
    return value
  }
}
