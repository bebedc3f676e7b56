import { notFound } from '../errors.ts'
import type { Actor } from '../operation/actor.ts'
import { covers } from '../security/permissions.ts'
import type { Database } from '../storage/database.ts'
import type { Invocation } from './invocation.ts'
import * as invocations from './store.ts'

/** What it takes to see, or to cancel, an invocation that somebody else started. */
type Needed = 'read' | 'write'

/** Whether every invocation of the agent is the actor's to see, or to cancel. */
export function reachesAll(actor: Actor, needed: Needed): boolean {
  return actor.scope.user_id === null && starterFor(actor, needed) === undefined
}

/** Who must have started it: with the permission `invoke` alone the actor itself, else anybody. */
export function starterFor({ id, permissions }: Actor, needed: Needed): string | undefined {
  return covers(permissions, needed) ? undefined : id
}

export function reaches(
  actor: Actor,
  needed: Needed,
  { user_id, created_by }: { user_id: string | undefined; created_by: string },
): boolean {
  if (actor.scope.user_id !== null && actor.scope.user_id !== user_id) return false
  return (starterFor(actor, needed) ?? created_by) === created_by
}

/** What an actor does not reach does not exist for it. */
export async function getInScope(
  db: Database,
  actor: Actor,
  needed: Needed,
  { agent_seq, id }: { agent_seq: number; id: string },
): Promise<Invocation> {
  const invocation = await invocations.get(db, agent_seq, id)
  const { context, created_by } = invocation
  if (!reaches(actor, needed, { user_id: context.user_id, created_by })) throw notFound('Invocation', id)
  return invocation
}
