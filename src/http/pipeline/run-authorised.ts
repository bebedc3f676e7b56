import { ApiError, notFound } from '../../errors.ts'
import type { Actor } from '../../operation/actor.ts'
import type { Uploads } from '../../operation/context.ts'
import type { ReplyChannel } from '../../operation/reply-channel.ts'
import { requireScope } from '../../operation/scope.ts'
import { sha256 } from '../../security/digest.ts'
import type { Gate } from '../../security/gate.ts'
import type { CallRequest, RenderedReply } from '../dialects/dialect.ts'
import { validate } from '../input/validate.ts'
import type { Edge } from './edge.ts'
import { unauthorized, validUntil } from './guards/authenticate.ts'
import { enterGate } from './guards/authorise.ts'
import { hasMoved } from './guards/choose-project.ts'
import { passesGate, passGate } from './guards/pass-gate.ts'
import { readCode, requireRight } from './guards/require-code.ts'
import { fingerprint, type Repeatable } from './idempotency/repeatable.ts'
import type { AgentAccess, AuthorizedCall } from './request.ts'
import { type Call, type Input, runOperation } from './run-operation.ts'

/**
 * Runs an authorised call: requires a second factor, validates the input, runs the operation once and renders the
 * reply.
 */
export async function runAuthorised(
  edge: Edge,
  authorised: AuthorizedCall,
  wanted: CallRequest,
  channel: ReplyChannel,
): Promise<RenderedReply> {
  const { parts, service } = edge
  const { actor, arrived, operation } = authorised
  const { given, idempotencyKey, rename, sent, writer } = wanted
  let uploads: Uploads | undefined
  try {
    // The permission may have ended while the body arrived.
    if (operation.input?.body) await requireStillAllowed(edge, authorised)
    // Some operations concern an agent that only their input names, and that agent may also require a code.
    const early = (operation.access.concerns || operation.mfa?.calls) && readInput(authorised, wanted)
    const agent = early ? await enterConcerned(edge, authorised, early) : authorised.agent
    const { policy, calls, removesProject, acrossAgents } = operation.mfa ?? {}
    if (policy === 'always' || calls || removesProject || acrossAgents || service.gate.mfa || agent?.gate?.mfa) {
      const answered = await checkCode(edge, { ...authorised, agent }, wanted, early || undefined)
      if (answered) return answered
    }
    const input = early || readInput(authorised, wanted)
    await operation.input?.check?.(input, parts, actor)
    uploads = await operation.input?.receive?.({ ...input, given }, actor, parts)
    const { dialect, path, request_id, address, span } = arrived
    const call: Call = {
      door: actor.console_session === undefined ? dialect.door : 'console',
      given,
      uploads,
      countRun: arrived.visitor && edge.links.runCounter(arrived.visitor, arrived.request_id),
      writer,
      operation,
      input,
      fields: Object.keys(Object(sent)),
      actor,
      agent_id: agent?.id ?? null,
      entered: agent?.snapshot,
      path,
      request_id,
      address,
      span,
      closedAgents: () => findClosed(authorised, edge),
    }
    if (idempotencyKey === undefined) return await runOperation(parts, call, channel)
    const repeatable = repeatableOf(authorised, wanted, idempotencyKey)
    return await runOperation(parts, call, channel, { repeatable, idempotency: edge.idempotency })
  } catch (error) {
    if (!rename || !(error instanceof ApiError) || !error.details) throw error
    throw error.withDetails(error.details.map((detail) => ({ ...detail, field: rename(detail.field) })))
  } finally {
    await uploads?.release()
  }
}

/**
 * Requires a one-time code if a policy says so. If a request is repeated with the code that it has already used,
 * returns the stored answer.
 */
async function checkCode(
  edge: Edge,
  authorised: AuthorizedCall,
  wanted: CallRequest,
  early: Input | undefined,
): Promise<RenderedReply | undefined> {
  const { operation, agent } = authorised
  const { service } = edge
  const gates = operation.mfa?.removesProject
    ? await enterAll(edge, authorised, readInput(authorised, wanted))
    : operation.mfa?.acrossAgents
      ? await gatesInReach(edge, authorised)
      : agent?.gate
        ? [service.gate, agent.gate]
        : [service.gate]
  const called = async () => (early ? gatesOfCalled(edge, authorised, early) : [])
  const code = await readCode(authorised, wanted.body, { gates, called })
  if (code === undefined) return undefined
  const tried = await edge.spendCode(authorised.actor.id, code)
  // A code works only once. A repeated request has used up its own code, so it gets the stored answer. A wrong code
  // doesn't.
  const isSpent = tried?.ok === false && tried.reason === 'reused'
  const { idempotencyKey: key } = wanted
  const repeatable = isSpent && key !== undefined && repeatableOf(authorised, wanted, key)
  const answered = repeatable ? await edge.idempotency.findAnswered(repeatable) : undefined
  if (!answered) requireRight(tried)
  return answered?.reply
}

function repeatableOf(
  { arrived, actor, operation, params }: AuthorizedCall,
  { sent }: CallRequest,
  key: string,
): Repeatable {
  return {
    // If the request is about a run, erasing the run must find the reply by the run's ID.
    request_id: params['request_id'] ?? arrived.request_id,
    scope: repeatScope(actor),
    project_id: actor.scope.project_id,
    key,
    fingerprint: fingerprint(operation.method, arrived.path, arrived.query, sent),
    secret: operation.answer.secret ?? false,
  }
}

/** Refuses the call if the actor's permission has ended since the request was admitted, or if the agent has moved. */
async function requireStillAllowed(edge: Edge, known: AuthorizedCall): Promise<void> {
  const { actor, agent, arrived } = known
  const { memo, now } = edge.parts
  const isSameAgent = !agent || memo.holds('snapshots', agent.snapshot)
  if (!isSameAgent && (await hasMoved(edge, actor, agent.id))) throw notFound('Agent', agent.id)
  const key = arrived.key?.verified
  const isSameKey = key && memo.holds('keys', key) && key.until > now()
  if (!isSameKey && (await validUntil(edge, known)) <= now()) throw unauthorized()
}

function readInput({ operation, params }: AuthorizedCall, { query, body }: CallRequest): Input {
  return { params, query, body: operation.input?.body ? validate(operation.input?.body, body) : undefined }
}

/** Checks the security of the agent that the operation concerns, if there is one. */
async function enterConcerned(
  edge: Edge,
  { arrived, actor, operation, agent: named }: AuthorizedCall,
  input: Input,
): Promise<AgentAccess | undefined> {
  const ref = (await operation.access.concerns?.(input, edge.parts.storage.db)) ?? null
  if (ref === null) return named
  const agent = await edge.findAgent(actor.scope.project_id, ref)
  requireScope(actor, agent?.id ?? null)
  if (!agent) return named
  arrived.trace.agent_id = agent.id
  if (agent.gate) await enterGate(arrived, agent.gate, agent.id, edge)
  return agent
}

/** The gates of all agents in the project that the operation deletes. The request must pass each of them. */
async function enterAll(edge: Edge, { arrived, operation }: AuthorizedCall, input: Input): Promise<Gate[]> {
  const { service, guardedIn, parts } = edge
  const project_id = (await operation.mfa?.removesProject?.(input, parts.storage.db)) ?? null
  const own = project_id === null ? [] : (await guardedIn(project_id)).map((agent) => agent.gate)
  for (const each of own) passGate(arrived, each, parts.now())
  return [service.gate, ...own]
}

/** The gates of all agents whose data the operation may change, without agents that are hidden from the request. */
async function gatesInReach({ service, guardedIn, parts }: Edge, { arrived, actor }: AuthorizedCall): Promise<Gate[]> {
  const { project_id, agent_id: only } = actor.scope
  const time = parts.now()
  const guarded = (await guardedIn(project_id)).filter(({ id }) => (only ?? id) === id)
  return [service.gate, ...guarded.map((agent) => agent.gate).filter((own) => passesGate(arrived, own, time))]
}

/**
 * The gates of the agents that the input calls. An agent that is hidden from the request won't be found later either,
 * so it requires nothing.
 */
async function gatesOfCalled(
  { guardedIn, parts }: Edge,
  { arrived, actor, operation }: AuthorizedCall,
  input: Input,
): Promise<Gate[]> {
  const wanting = (await guardedIn(actor.scope.project_id)).filter(({ gate }) => gate.mfa?.has('invoke'))
  if (wanting.length === 0) return []
  const refs = (await operation.mfa?.calls?.(input, parts.storage.db)) ?? []
  const called = wanting.filter(({ id, name }) => refs.some((ref) => ref === id || ref === name))
  return called.map(({ gate }) => gate).filter((gate) => passesGate(arrived, gate, parts.now()))
}

/** The agents that a list must leave out because the request doesn't pass their own gates. */
async function findClosed({ arrived, actor }: AuthorizedCall, { guardedIn, parts }: Edge): Promise<string[]> {
  const time = parts.now()
  const closed = (await guardedIn(actor.scope.project_id)).filter(({ gate }) => !passesGate(arrived, gate, time))
  return closed.map(({ id }) => id)
}

/**
 * The scope within which an Idempotency-Key is unique. The scope contains the user, because one application can sign
 * tokens for many users under one name, and they must not get each other's answers. It contains the console session,
 * because a session can have fewer permissions than its key. It contains the project, because a key with access to all
 * projects must not get one project's answer when it asks in another. The scope is JSON, because its parts can contain
 * any separator. Of a token's scope, only the hash is stored, so that it doesn't contain an erased user's ID.
 */
function repeatScope({ kind, id, scope, reach, console_session }: Actor): string {
  const { project_id, user_id } = scope
  // The visitors of a link have one key.
  if (kind === 'key' && user_id !== null) return sha256(JSON.stringify([id, project_id, user_id]))
  if (console_session !== undefined) return JSON.stringify([id, project_id, user_id, console_session])
  if (kind === 'token') return sha256(JSON.stringify([id, project_id, user_id]))
  return reach === 'service' ? JSON.stringify([id, project_id]) : id
}
