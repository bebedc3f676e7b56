import { z } from 'zod'

export const Permission = z.enum(['read', 'invoke', 'write', 'delete', 'manage', 'approve'])
export type Permission = z.infer<typeof Permission>

export type Roles = Readonly<Record<string, readonly Permission[]>>

export const defaultRoles = {
  admin: ['read', 'write', 'delete', 'manage', 'approve'],
  developer: ['read', 'write'],
  viewer: ['read'],
  caller: ['invoke'],
  approver: ['read', 'approve'],
} as const satisfies Roles

/** A role's permissions. An unknown role has none. Only own properties count, so `constructor` isn't a role. */
export function permissionsOf(role: string, roles: Roles = defaultRoles): readonly Permission[] {
  return Object.hasOwn(roles, role) ? (roles[role] ?? []) : []
}

/** `write` includes `invoke`. No other permission includes another: `manage` alone doesn't allow reading. */
export function covers(held: readonly Permission[], wanted: Permission): boolean {
  return held.includes(wanted) || (wanted === 'invoke' && held.includes('write'))
}

export function coversAll(held: readonly Permission[], wanted: readonly Permission[]): boolean {
  return wanted.every((permission) => covers(held, permission))
}
