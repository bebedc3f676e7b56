import type { Key } from '../../../sdk/client.ts'
import { session } from '../session-state.ts'

export type Permission = Key['permissions'][number]

/** What each permission allows. */
const PERMISSIONS: { value: Permission; about: string }[] = [
  { value: 'invoke', about: 'send messages to agents' },
  { value: 'read', about: 'see agents, invocations, logs, memory' },
  { value: 'write', about: 'create and change agents, deploy; includes invoke' },
  { value: 'delete', about: 'delete agents and clear memory' },
  { value: 'approve', about: "approve tool calls and answer agents' questions" },
  { value: 'manage', about: 'manage keys, roles, the audit log and the service' },
]

/** The permissions that the reader has, and so can grant. */
export function heldPermissions(): typeof PERMISSIONS {
  const held = session.value?.permissions ?? []
  return PERMISSIONS.filter(({ value }) => held.includes(value) || (value === 'invoke' && held.includes('write')))
}
