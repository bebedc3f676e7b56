import { type ApiError, forbidden, notFound } from '../errors.ts'

/** What an actor may see and touch. It is built once, with the actor, and used everywhere. */
export type Scope = {
  /** The only agent that the actor may use; null for the whole service. */
  readonly agent_id: string | null
  /** The only user that the actor may act for; null for every user. */
  readonly user_id: string | null
}

export const WHOLE_SERVICE: Scope = { agent_id: null, user_id: null }

/** An actor, or anything else that has a scope. */
type Scoped = { readonly scope: Scope }

/** The answer is the same whether or not the agent exists, so that a scoped key learns nothing about other agents. */
export function requireScope({ scope }: Scoped, wanted: string | null): void {
  if (scope.agent_id !== null && scope.agent_id !== wanted) throw outOfScope()
}

/**
 * Checks something that was found by its id and belongs to an agent or to the whole service. The answer is the same if
 * it is out of scope and if it does not exist.
 */
export function requireFound<T extends { agent_id: string | null }>(
  { scope }: Scoped,
  found: T | undefined,
  { kind, id }: { kind: string; id: string },
): T {
  if (scope.agent_id !== null && found?.agent_id !== scope.agent_id) throw outOfScope()
  if (!found) throw notFound(kind, id)
  return found
}

/** The user that the actor acts for. A token that speaks for one user cannot act for another. */
export function requireUser({ scope }: Scoped, wanted: string | undefined): string | undefined {
  if (scope.user_id === null) return wanted
  if (wanted !== undefined && wanted !== scope.user_id) throw forbidden('This token speaks for another user')
  return scope.user_id
}

/** Refuses tokens that speak for one user, for operations that concern every user. */
export function requireEveryUser({ scope }: Scoped, what = 'this concerns others too'): void {
  if (scope.user_id !== null) throw forbidden(`This token speaks for one user, and ${what}: use a key`)
}

function outOfScope(): ApiError {
  return forbidden('This key is limited to another agent')
}
