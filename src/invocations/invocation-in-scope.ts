import { notFound } from '../errors.ts'
import type { Actor } from '../operation/actor.ts'
import { covers } from '../security/permissions.ts'
import type { Database } from '../storage/database.ts'
import type { Invocation } from './invocation.ts'
import * as invocations from './store.ts'

/** The permission to see, cancel or decide on invocations that another client started. */
type InvocationAccess = 'read' | 'write' | 'approve'

/**
 * Who must have started the invocation: the actor itself if it only has the permission `invoke`, otherwise undefined.
 */
export function starterFor({ id, permissions }: Actor, needed: InvocationAccess): string | undefined {
  return covers(permissions, needed) ? undefined : id
}

/** The user of an invocation, and who started it. */
type InvocationOwner = { user_id: string | undefined; created_by: string }

/** An invocation that the actor may not see gets the same reply as one that doesn't exist. */
export function requireReach(
  actor: Actor,
  needed: InvocationAccess,
  id: string,
  { user_id, created_by }: InvocationOwner,
): void {
  const isOfUser = actor.scope.user_id === null || actor.scope.user_id === user_id
  const isOfStarter = (starterFor(actor, needed) ?? created_by) === created_by
  if (!isOfUser || !isOfStarter) throw notFound('Invocation', id)
}

export async function getInScope(
  db: Database,
  actor: Actor,
  needed: InvocationAccess,
  { agent_seq, id }: { agent_seq: number; id: string },
): Promise<Invocation> {
  const invocation = await invocations.get(db, agent_seq, id)
  const { context, created_by } = invocation
  requireReach(actor, needed, id, { user_id: context.user_id, created_by })
  return invocation
}
