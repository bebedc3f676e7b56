import { type ApiError, forbidden } from '../errors.ts'
import { covers, type Permission } from '../security/permissions.ts'
import type { TokenRun } from '../security/run-token.ts'
import type { Scope } from './scope.ts'

/** A person's permissions in one project. */
export type RoleInProject = { id: string; permissions: readonly Permission[] }

/** Who makes a request. */
export type Actor = {
  kind: 'key' | 'token' | 'local' | 'person'
  /** For a person: the ID of the role that they use. */
  id: string
  /** The person who makes the request, with a role or with a personal key. */
  person_id?: string
  /** The roles of a person who has none for all projects, by project. */
  roles?: ReadonlyMap<string, RoleInProject>
  /** An identity provider says that the person has used a second factor. */
  is_strong?: true
  /**
   * The attempt of a run for which a remote agent makes the request. It only gives access to that run's steps and
   * files.
   */
  run?: TokenRun
  scope: Scope
  /** `service`: it has access to every project, and a request says which. */
  reach: 'project' | 'service'
  /** The request says in which project. */
  names_project?: true
  permissions: readonly Permission[]
  tier: string
  /** When the actor's own right ends. What it creates can't last longer. */
  expires_at: number | null
  /** The console session through which a key is used. */
  console_session?: string
  /**
   * Set if the actor uses the previous secret of a rotated key, or a session opened with it. The actor's access ends at
   * this time.
   */
  by_previous_secret_until?: number
}

/** When the actor's right ends by itself: its key expires, or the secret that it uses was replaced. Infinity: never. */
export function endOfRight({ expires_at, by_previous_secret_until }: Actor): number {
  return Math.min(expires_at ?? Number.POSITIVE_INFINITY, by_previous_secret_until ?? Number.POSITIVE_INFINITY)
}

/**
 * Refuses anything that would outlive the right of a token, or of a replaced secret. What a key creates ends with the
 * key, but its earlier secrets end before it.
 */
export function requireLasting({ kind, by_previous_secret_until }: Actor, thing: string): void {
  if (kind === 'token') throw forbidden(`${thing} would outlive this token. Use an API key.`)
  if (by_previous_secret_until !== undefined) {
    throw forbidden(`${thing} would outlive this secret, which has been rotated. Use the new secret.`)
  }
}

/** The same actor in the project that its request names; a person with their role in that project. */
export function workingIn(actor: Actor, project_id: string): Actor {
  const role = actor.roles?.get(project_id)
  if (actor.roles && !role) throw forbidden('You have no role in this project.')
  const may = role && { id: role.id, permissions: role.permissions }
  return { ...actor, ...may, scope: { ...actor.scope, project_id }, names_project: true }
}

/** A person who is signed in. A personal key can't create others: it would be hard to say which of them to trust. */
export function requirePerson(actor: Actor): Actor & { person_id: string } {
  const { kind, person_id } = actor
  if (kind !== 'person' || person_id === undefined)
    throw forbidden("Only people who are signed in can do this. API keys can't.")
  return { ...actor, person_id }
}

/** A call's token is only for the run of that call. */
export function requireRun({ run }: Actor, request_id: string): TokenRun {
  if (run?.request_id !== request_id) throw forbidden('This token belongs to another run.')
  return run
}

export function lacksPermission({ kind }: Actor, permission: Permission): ApiError {
  const who = kind === 'person' ? 'Your role here' : 'This key'
  return forbidden(`${who} doesn't have the permission "${permission}".`)
}

export function requirePermission(actor: Actor, permission: Permission): void {
  if (!covers(actor.permissions, permission)) throw lacksPermission(actor, permission)
}
