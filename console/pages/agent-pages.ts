// The tabs of an agent are loaded together: apart, what they share would be cut into many small files, a tenth
// larger in all. Metrics are not among them, because they bring the charts.
export { DeploymentPage } from './deployments/deployment-page.tsx'
export { DeploymentsPage } from './deployments/deployments-page.tsx'
export { LogsPage } from './logs/logs-page.tsx'
export { MemoryPage } from './memory/memory-page.tsx'
export { PlaygroundPage } from './playground/playground-page.tsx'
export { SchedulesPage } from './schedules/schedules-page.tsx'
export { SettingsPage } from './settings/settings-page.tsx'
