import { type ApiError, forbidden } from '../errors.ts'
import type { Actor } from './actor.ts'

/** For whom the actor acts: a token that speaks for one user cannot speak for another. */
export function requireUser({ user_id }: Actor, wanted: string | undefined): string | undefined {
  if (user_id === undefined) return wanted
  if (wanted !== undefined && wanted !== user_id) throw forbidden('This token speaks for another user')
  return user_id
}

/** The same words whether or not the agent exists: a scoped key learns nothing about others. */
export function requireScope({ agent_id }: Actor, wanted: string | null): void {
  if (agent_id !== null && agent_id !== wanted) throw outOfScope()
}

export function outOfScope(): ApiError {
  return forbidden('This key is limited to another agent')
}
