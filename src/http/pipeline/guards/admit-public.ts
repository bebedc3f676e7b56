import { withValue } from '../../../lib/with-value.ts'
import type { Actor } from '../../../operation/actor.ts'
import type { Edge } from '../edge.ts'
import type { Admitted, Arrived, FoundAgent } from '../stages.ts'
import { enterAgent } from './authorise.ts'
import { passesGate } from './pass-gate.ts'

/**
 * Admits a request without a key where an agent shows itself to everybody. It may call nothing. Undefined otherwise:
 * then the request needs a key, so a stranger does not learn whether the agent exists.
 */
export function admitPublic(edge: Edge, arrived: Arrived): Admitted | undefined | Promise<Admitted | undefined> {
  const { route, params, message } = arrived
  const { agent_id: ref } = params
  if (!route || ref === undefined || message.headers.authorization !== undefined) return undefined
  return withValue(edge.findAgent(ref), (agent) => {
    if (!agent?.isCardPublic || (agent.gate && !passesGate(arrived, agent.gate, edge.parts.now()))) return undefined
    const admitted = {
      arrived,
      actor: nobody(agent, edge),
      operation: route.operation,
      params: { ...params, agent_id: agent.id },
      agent,
    }
    return withValue(enterAgent(arrived, agent, edge), () => admitted)
  })
}

function nobody({ id }: FoundAgent, { parts }: Edge): Actor {
  const scope = { agent_id: id, user_id: null }
  return {
    kind: 'token',
    id: 'nobody',
    scope,
    permissions: [],
    tier: parts.config.limits.defaultTier,
    expires_at: null,
  }
}
