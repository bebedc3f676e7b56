import { forbidden } from '../errors.ts'
import type { Permission } from '../security/permissions.ts'

/** Who asks. `agent_id` is the scope: null means the whole service. */
export type Actor = {
  kind: 'key' | 'token' | 'local'
  id: string
  agent_id: string | null
  permissions: readonly Permission[]
  tier: string
  /** What the actor creates may not outlive it. */
  expires_at: number | null
  /** The one user for whom a JWT speaks; what the actor does is done for that user and no other. */
  user_id?: string
}

export function requirePermission({ permissions }: Actor, permission: Permission): void {
  if (!permissions.includes(permission)) throw forbidden(`This key lacks the permission "${permission}"`)
}
