import { type ApiError, forbidden, notFound } from '../errors.ts'

/** What an actor may see and touch. It is built with the actor, once, and asked everywhere. */
export type Scope = {
  /** The only agent; null is the whole service. */
  readonly agent_id: string | null
  /** The only user: what the actor does is done for that user and no other. Null is every user. */
  readonly user_id: string | null
}

export const WHOLE_SERVICE: Scope = { agent_id: null, user_id: null }

/** Whoever has a scope: an actor. */
type Scoped = { readonly scope: Scope }

/** The same words whether or not the agent exists: a scoped key learns nothing about others. */
export function requireScope({ scope }: Scoped, wanted: string | null): void {
  if (scope.agent_id !== null && scope.agent_id !== wanted) throw outOfScope()
}

/** What was found by its id, and belongs to an agent or to all. What is outside and what does not exist look alike. */
export function requireFound<T extends { agent_id: string | null }>(
  { scope }: Scoped,
  found: T | undefined,
  { kind, id }: { kind: string; id: string },
): T {
  if (scope.agent_id !== null && found?.agent_id !== scope.agent_id) throw outOfScope()
  if (!found) throw notFound(kind, id)
  return found
}

/** For whom the actor acts: a token that speaks for one user cannot speak for another. */
export function requireUser({ scope }: Scoped, wanted: string | undefined): string | undefined {
  if (scope.user_id === null) return wanted
  if (wanted !== undefined && wanted !== scope.user_id) throw forbidden('This token speaks for another user')
  return scope.user_id
}

/** What concerns every user is not for a token that speaks for one: it could read, or go on, without that bound. */
export function requireEveryUser({ scope }: Scoped, what = 'this concerns others too'): void {
  if (scope.user_id !== null) throw forbidden(`This token speaks for one user, and ${what}: use a key`)
}

function outOfScope(): ApiError {
  return forbidden('This key is limited to another agent')
}
