import { forbidden } from '../errors.ts'
import { covers, type Permission } from '../security/permissions.ts'
import type { Scope } from './scope.ts'

/** Who asks. */
export type Actor = {
  kind: 'key' | 'token' | 'local'
  id: string
  scope: Scope
  /** `service`: it may work in every project, and a request says in which. */
  reach: 'project' | 'service'
  /** The request says in which project. */
  names_project?: true
  permissions: readonly Permission[]
  tier: string
  /** When the actor's own right ends. What it creates may not last longer. */
  expires_at: number | null
  /** The session through which a key is used in the console. */
  console_session?: string
  /** A key that was rotated is used with its previous secret, which ends then. */
  by_previous_secret_until?: number
}

/** The same actor of the service, in the project that its request names. */
export function workingIn(actor: Actor, project_id: string): Actor {
  return { ...actor, scope: { ...actor.scope, project_id }, names_project: true }
}

export function requirePermission({ permissions }: Actor, permission: Permission): void {
  if (!covers(permissions, permission)) throw forbidden(`This key lacks the permission "${permission}"`)
}
