import type { UsageRow } from '../../../sdk/client.ts'
import { param } from '../../lib/location.ts'
import { projects } from '../../lib/projects/chosen-project.ts'
import { session } from '../../lib/session-state.ts'

type GroupColumn =
  | 'model'
  | 'agent_id'
  | 'key_id'
  | 'person_id'
  | 'user_id'
  | 'door'
  | 'version'
  | 'environment'
  | 'purpose'
  | 'project_id'

/** A way to split usage. `none` is shown if a call has no such value. */
export type UsageGroup = { by: string; label: string; column: GroupColumn; none: string }

const GROUPS: UsageGroup[] = [
  { by: 'model', label: 'Model', column: 'model', none: '–' },
  { by: 'agent', label: 'Agent', column: 'agent_id', none: 'no agent' },
  { by: 'key', label: 'Key', column: 'key_id', none: 'no key' },
  { by: 'person', label: 'Person', column: 'person_id', none: 'no person' },
  { by: 'user', label: 'User', column: 'user_id', none: 'no user' },
  { by: 'door', label: 'Channel', column: 'door', none: 'in the background' },
  { by: 'version', label: 'Version', column: 'version', none: 'draft' },
  { by: 'environment', label: 'Environment', column: 'environment', none: 'no environment' },
  { by: 'purpose', label: 'Purpose', column: 'purpose', none: '–' },
]
const PROJECT: UsageGroup = { by: 'project', label: 'Project', column: 'project_id', none: 'the service itself' }

/** Whether the session can show usage across all projects. */
export function mayAskService(): boolean {
  const now = session.value
  return now?.reach === 'service' && now.agent_id === null && projects.value.length > 0
}

export function isOfService(): boolean {
  return mayAskService() && param('scope') === 'service'
}

export function offeredGroups(): UsageGroup[] {
  return isOfService() ? [PROJECT, ...GROUPS] : GROUPS
}

export function chosenGroup(): UsageGroup {
  const offered = offeredGroups()
  return offered.find(({ by }) => by === param('by')) ?? (offered[0] as UsageGroup)
}

/** The columns and values to which the URL limits the page. One invocation is a filter, but not a group. */
export function usageFilters(): [label: string, column: string, value: string][] {
  const all = [...GROUPS, { label: 'Invocation', column: 'request_id' }]
  return all.flatMap(({ label, column }) => {
    const value = param(column)
    return value ? [[label, column, value] as [string, string, string]] : []
  })
}

/** The first group to which the page isn't limited, because a limited group would have only one row. */
export function nextGroup(limited: GroupColumn): string {
  const next = GROUPS.find(({ column }) => column !== limited && param(column) === undefined)
  return next?.by ?? 'model'
}

export function valueIn({ column }: UsageGroup, row: UsageRow): string | null {
  return row[column] ?? null
}
