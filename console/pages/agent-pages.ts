// The tabs of an agent.
export { DeploymentPage } from './deployments/deployment-page.tsx'
export { DeploymentsPage } from './deployments/deployments-page.tsx'
export { LogsPage } from './logs/logs-page.tsx'
export { MemoryPage } from './memory/memory-page.tsx'
export { PlaygroundPage } from './playground/playground-page.tsx'
export { SchedulesPage } from './schedules/schedules-page.tsx'
export { SettingsPage } from './settings/settings-page.tsx'
