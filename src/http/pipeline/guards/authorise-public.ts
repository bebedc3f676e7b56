import type { Actor } from '../../../operation/actor.ts'
import { addressBucket } from '../../../security/ip-list.ts'
import type { Edge } from '../edge.ts'
import type { Arrived, Authorised, FoundAgent } from '../request.ts'
import { passesGate, promiseHttps } from './pass-gate.ts'
import { countRequest } from './rate-limit.ts'

/** The tier that has least, whatever keys have. */
const STRANGERS_TIER = 'free'

/**
 * Authorises a request without a key where an agent shows itself to everybody. It may call nothing. Undefined
 * otherwise: then the request needs a key, so a stranger does not learn whether the agent exists.
 */
export async function authorisePublic(edge: Edge, arrived: Arrived): Promise<Authorised | undefined> {
  const { route, params, message } = arrived
  const { agent_id: ref } = params
  if (!route || ref === undefined || message.headers.authorization !== undefined) return undefined
  // Answered from memory, because a client that has shown no key must not cause a query for every name that it tries.
  const guarded = await edge.guardedAgents()
  const agent = guarded.some(({ id, name }) => id === ref || name === ref) ? await edge.findAgent(ref) : undefined
  if (!agent?.isCardPublic || (agent.gate && !passesGate(arrived, agent.gate, edge.parts.now()))) return undefined
  arrived.trace.agent_id = agent.id
  if (agent.gate) promiseHttps(arrived, agent.gate)
  const actor = nobody(agent, arrived)
  // Counted by address. The agent's own limit is for those who may ask it, and strangers must not use it up.
  await countRequest({ arrived, actor }, edge.limiter, edge.parts.config.limits)
  return { arrived, actor, operation: route.operation, params: { ...params, agent_id: agent.id }, agent }
}

function nobody({ id: agent_id }: FoundAgent, { address }: Arrived): Actor {
  return {
    kind: 'token',
    id: `nobody:${addressBucket(address)}`,
    scope: { agent_id, user_id: null },
    permissions: [],
    tier: STRANGERS_TIER,
    expires_at: null,
  }
}
