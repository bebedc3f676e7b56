import type { Actor } from '../../../operation/actor.ts'
import { addressBucket } from '../../../security/ip-list.ts'
import { DEFAULT_PROJECT } from '../../../storage/tables/project-tables.ts'
import type { Edge } from '../edge.ts'
import { takeFromTier } from '../pipeline.ts'
import type { ArrivedRequest, AuthorizedCall, GuardedAgent } from '../request.ts'
import { passesGate, promiseHttps } from './pass-gate.ts'

/** The tier with the lowest limits, no matter which tiers keys have. */
const STRANGERS_TIER = 'free'

/**
 * Authorises a request without a key if an agent has made itself public. An agent of the default project is found by
 * its name, and any agent by its ID. Such a request can't call anything. Otherwise, returns undefined, and the request
 * needs a key, so a stranger doesn't learn whether the agent exists.
 */
export async function authorisePublic(edge: Edge, arrived: ArrivedRequest): Promise<AuthorizedCall | undefined> {
  const { route, params, message } = arrived
  const { agent_id: ref } = params
  if (!route || ref === undefined || message.headers.authorization !== undefined) return undefined
  // Found in memory, because a client without a key must not cause a query for every name that it tries.
  const guarded = await edge.guardedAgents()
  const known = guarded.find((each) => each.id === ref || (each.name === ref && each.project_id === DEFAULT_PROJECT))
  const agent = known && (await edge.findAgent(known.project_id, ref))
  if (!known || !agent?.isCardPublic || (agent.gate && !passesGate(arrived, agent.gate, edge.parts.now())))
    return undefined
  arrived.trace.agent_id = agent.id
  if (agent.gate?.hsts !== undefined) promiseHttps(arrived, agent.gate.hsts)
  const actor = publicCaller(known, arrived)
  // Counted by IP address. The agent's own limit is for its callers, and strangers must not use it up.
  await takeFromTier(arrived, actor, edge.parts.limiter, edge.parts.config.limits)
  return { arrived, actor, operation: route.operation, params: { ...params, agent_id: agent.id }, agent }
}

function publicCaller({ id: agent_id, project_id }: GuardedAgent, { address }: ArrivedRequest): Actor {
  return {
    kind: 'token',
    id: `public:${addressBucket(address)}`,
    scope: { project_id, agent_id, user_id: null },
    reach: 'project',
    permissions: [],
    tier: STRANGERS_TIER,
    expires_at: null,
  }
}
