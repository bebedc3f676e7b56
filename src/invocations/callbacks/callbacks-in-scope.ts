import type { z } from 'zod'
import type { Agent } from '../../agents/agent.ts'
import * as agents from '../../agents/store.ts'
import { notFound } from '../../errors.ts'
import type { Needs } from '../../operation/context.ts'
import * as callbacks from '../../webhooks/callback-store.ts'
import { getInScope } from '../invocation-in-scope.ts'
import type { Callback, CallbackParams } from './callback.ts'

type CallbackPath = z.output<typeof CallbackParams>

/** Checks that the actor may see, or change, a run's callbacks. */
export async function requireRun(
  { agent_id, request_id }: Pick<CallbackPath, 'agent_id' | 'request_id'>,
  needed: 'read' | 'write',
  { actor, db }: Needs<'actor' | 'db'>,
): Promise<Agent> {
  const agent = await agents.get(db, agent_id)
  await getInScope(db, actor, needed, { agent_seq: agent.seq, id: request_id })
  return agent
}

/** Finds a callback by its ID or by the name that the client gave it. */
export async function getCallbackInScope(
  params: CallbackPath,
  needed: 'read' | 'write',
  context: Needs<'actor' | 'db'>,
): Promise<Callback> {
  await requireRun(params, needed, context)
  const { request_id, callback_id } = params
  const all = await callbacks.listOfRequest(context.db, request_id)
  const found = all.find(({ id, name }) => id === callback_id || name === callback_id)
  if (!found) throw notFound('Callback', callback_id)
  return found as Callback
}
