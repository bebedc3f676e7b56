import { notFound } from '../errors.ts'
import type { Actor } from '../operation/actor.ts'
import type { Database } from '../storage/database.ts'
import type { Invocation } from './invocation.ts'
import * as invocations from './store.ts'

/** To a token that speaks for one user the invocations of others do not exist. */
export async function getInScope(db: Database, { scope }: Actor, agent_seq: number, id: string): Promise<Invocation> {
  const invocation = await invocations.get(db, agent_seq, id)
  if (scope.user_id !== null && invocation.context.user_id !== scope.user_id) throw notFound('Invocation', id)
  return invocation
}
