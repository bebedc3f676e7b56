import type { Agent } from '../../agents/agent.ts'
import * as agents from '../../agents/store.ts'
import type { Needs } from '../../operation/context.ts'
import type { Invocation } from '../invocation.ts'
import { getInScope } from '../invocation-in-scope.ts'

/** The run that the feedback is about, if the actor may see it. */
export async function ratedRun(
  { agent_id, request_id }: { agent_id: string; request_id: string },
  { actor, db }: Needs<'actor' | 'db'>,
): Promise<{ agent: Agent; run: Invocation }> {
  const agent = await agents.get(db, agent_id)
  return { agent, run: await getInScope(db, actor, 'read', { agent_seq: agent.seq, id: request_id }) }
}
