import { ApiError, forbidden, notFound } from '../../../errors.ts'
import { type Actor, lacksPermission, requirePerson } from '../../../operation/actor.ts'
import { requireEveryUser, requireOperator, requireScope, requireService } from '../../../operation/scope.ts'
import type { Operation } from '../../../operation.ts'
import type { Gate } from '../../../security/gate.ts'
import { covers } from '../../../security/permissions.ts'
import type { NamedCall } from '../../dialects/dialect.ts'
import type { Edge } from '../edge.ts'
import { takeFromGate } from '../pipeline.ts'
import type { ArrivedRequest, AuthorizedCall, IdentifiedRequest, PathParams } from '../request.ts'
import { settleOrigin } from './cors.ts'
import { passesGate, passGate, promiseHttps } from './pass-gate.ts'

/**
 * Decides whether the actor can use an operation on an agent, by its permissions, its scope and the agent's own gate.
 */
export async function authorise(
  edge: Edge,
  { arrived, actor, agent: named }: IdentifiedRequest,
  operation: Operation,
  params: PathParams,
): Promise<AuthorizedCall> {
  requireOperationPermission(actor, operation)
  const { agent_id: ref } = params
  if (ref === undefined) {
    await settleWithoutAgent(edge, arrived, actor)
    return { arrived, actor, operation, params, agent: undefined }
  }
  const agent = ref === arrived.params['agent_id'] && named ? named : await edge.findAgent(actor.scope.project_id, ref)
  // The scope is checked first, because an actor must not learn whether an agent outside its scope exists.
  if (actor.scope.agent_id !== null) requireScope(actor, agent?.id ?? null)
  if (!agent) throw notFound('Agent', ref)
  arrived.trace.agent_id = agent.id
  if (agent.gate) await enterGate(arrived, agent.gate, agent.id, edge)
  // An agent of another project may have the same name but list other origins. Only browsers send this header.
  if (arrived.message.headers.origin !== undefined && !arrived.visitor)
    settleOrigin(arrived, [agent.gate?.cors ?? edge.service.gate.cors])
  return { arrived, actor, operation, params: { ...params, agent_id: agent.id }, agent }
}

/**
 * If only the body names the agent, pages that any agent lists can send the request, but pages of another project's
 * agents can't read the reply.
 */
async function settleWithoutAgent(
  { service, guardedIn, parts }: Edge,
  arrived: ArrivedRequest,
  actor: Actor,
): Promise<void> {
  if (!arrived.cors || !arrived.dialect.namesAgents) return
  const gates = (await guardedIn(actor.scope.project_id)).map((agent) => agent.gate)
  const passed = gates.filter((own) => passesGate(arrived, own, parts.now()))
  settleOrigin(
    arrived,
    [service.gate, ...passed].map(({ cors }) => cors),
  )
}

/**
 * Authorises one call of a request that is already authorised. If the path names the call's agent, the agent's gate was
 * already checked.
 */
export async function authoriseNamed(
  edge: Edge,
  { arrived, actor, agent }: AuthorizedCall,
  { operation, params }: Pick<NamedCall, 'operation' | 'params'>,
): Promise<AuthorizedCall> {
  if (agent && params['agent_id'] === agent.id) {
    requireOperationPermission(actor, operation)
    return { arrived, actor, operation, params, agent }
  }
  return authorise(edge, { arrived, actor }, operation, params)
}

function requireOperationPermission(actor: Actor, { access }: Operation): void {
  const { permission, ownPermission, userTokens, forPeople, ofRuns, reach } = access
  if (ofRuns !== (actor.run && true))
    throw forbidden(
      ofRuns
        ? 'Only remote agents can call this endpoint.'
        : "This token only gives access to its run's steps and files.",
    )
  if (forPeople) requirePerson(actor)
  const mayOwn = ownPermission !== undefined && covers(actor.permissions, ownPermission)
  if (permission && !mayOwn && !covers(actor.permissions, permission)) throw lacksPermission(actor, permission)
  if (!userTokens) requireEveryUser(actor)
  if (reach === 'service') requireService(actor)
  if (reach === 'operator') requireOperator(actor)
}

/** Whether the actor can call the operation at all. */
export function mayCall(actor: Actor, operation: Operation): boolean {
  try {
    requireOperationPermission(actor, operation)
    return true
  } catch (error) {
    if (error instanceof ApiError) return false
    throw error
  }
}

/** Checks the agent's own security. */
export async function enterGate(arrived: ArrivedRequest, gate: Gate, agent_id: string, { parts }: Edge): Promise<void> {
  if (gate.hsts !== undefined) promiseHttps(arrived, gate.hsts)
  passGate(arrived, gate, parts.now())
  if (!gate.rate) return
  await takeFromGate(arrived, gate.rate, { bucket: `agent:${agent_id}`, whose: 'this agent' }, parts.limiter)
}
