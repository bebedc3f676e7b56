import { type ApiError, forbidden, notFound } from '../errors.ts'
import { DEFAULT_PROJECT } from '../storage/tables/project-tables.ts'

/** What an actor has access to. It is created once, with the actor, and used everywhere. */
export type Scope = {
  /** The project that the actor works in. It can't see other projects. */
  readonly project_id: string
  /** The only agent that the actor may use; null for the whole project. */
  readonly agent_id: string | null
  /** The only user that the actor may act for; null for every user. */
  readonly user_id: string | null
}

/** An actor, or anything else that has a scope. */
type HasScope = { readonly scope: Scope }

/** An actor of one project, or of the service. The latter chooses a project with every request. */
type ReachingActor = HasScope & { readonly reach: 'project' | 'service'; readonly kind?: string }

/** The reply is the same whether or not the agent exists, so that a scoped key learns nothing about other agents. */
export function requireScope({ scope }: HasScope, wanted: string | null): void {
  if (scope.agent_id !== null && scope.agent_id !== wanted) throw outOfScope()
}

/** All agents of a project share these. Only actors who manage the whole project may change them. */
type SharedByAgents = 'connections' | 'prices' | 'providers' | 'secrets'

export function requireWholeProject({ scope }: HasScope, shared: SharedByAgents): void {
  if (scope.agent_id !== null) throw forbidden(`This key is limited to one agent and can't manage ${shared}.`)
}

/** Something that belongs to a project and perhaps to one of its agents. What belongs to all projects has none. */
type OwnedItem = { project_id: string | null; agent_id: string | null }

/**
 * Checks something that was found by its ID and belongs to an agent or to a whole project. The reply is the same
 * whether it is out of scope or doesn't exist.
 */
export function requireFound<T extends OwnedItem>(
  actor: ReachingActor,
  found: T | undefined,
  { kind, id }: { kind: string; id: string },
): T {
  if (actor.scope.agent_id !== null && found?.agent_id !== actor.scope.agent_id) throw outOfScope()
  if (!found || !isInReach(actor, found)) throw notFound(kind, id)
  return found
}

/**
 * Whether the actor may know about it: it belongs to the actor's project, or to all projects if the actor has access to
 * all.
 */
export function isInReach({ reach, scope }: ReachingActor, { project_id }: Pick<OwnedItem, 'project_id'>): boolean {
  return project_id === null ? reach === 'service' : project_id === scope.project_id
}

/** The state of the service itself is returned to actors with access to all projects, and in the default project. */
export function requireOperator(actor: ReachingActor): void {
  requireScope(actor, null)
  if (actor.reach === 'service' || actor.scope.project_id === DEFAULT_PROJECT) return
  const what = actor.kind === 'person' ? 'Your role is limited to a project' : 'This key is limited to a project'
  throw forbidden(`${what} and can't do this: it affects the whole service.`)
}

/** Refuses keys and people of one project, for things that also affect others. */
export function requireService({ reach, kind }: ReachingActor): void {
  if (reach === 'service') return
  throw forbidden(
    kind === 'person'
      ? 'Only a service administrator can do this.'
      : 'This requires a key with access to all projects.',
  )
}

/** The user that the actor acts for. A token for one user can't act for another. */
export function requireUser({ scope }: HasScope, wanted: string | undefined): string | undefined {
  if (scope.user_id === null) return wanted
  if (wanted !== undefined && wanted !== scope.user_id) throw forbidden('This token belongs to another user.')
  return scope.user_id
}

/** Refuses tokens for one user, for operations that affect every user. */
export function requireEveryUser({ scope }: HasScope, what = 'this affects other users'): void {
  if (scope.user_id !== null) throw forbidden(`This token acts for one user, and ${what}. Use an API key.`)
}

function outOfScope(): ApiError {
  return forbidden('This key is limited to another agent.')
}
