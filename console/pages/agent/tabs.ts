import type { OperationId } from '../../../sdk/call.ts'

type Tab = { id: string; label: string; needs: OperationId }

/** An agent's tabs. Each is a separate page in `routes.ts`. */
export const TABS: Tab[] = [
  { id: '', label: 'Playground', needs: 'getAgent' },
  { id: 'deployments', label: 'Deployments', needs: 'listDeployments' },
  { id: 'logs', label: 'Logs', needs: 'getLogs' },
  { id: 'metrics', label: 'Metrics', needs: 'getPerformance' },
  { id: 'memory', label: 'Memory', needs: 'listMemory' },
  { id: 'schedules', label: 'Schedules', needs: 'listSchedules' },
  { id: 'triggers', label: 'Triggers', needs: 'listTriggers' },
  { id: 'share', label: 'Share', needs: 'listLinks' },
  { id: 'replays', label: 'Replays', needs: 'listReplays' },
  { id: 'settings', label: 'Settings', needs: 'getAgent' },
]
