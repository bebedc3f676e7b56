import { ApiError, notFound } from '../../errors.ts'
import type { Actor } from '../../operation/actor.ts'
import type { Uploads } from '../../operation/context.ts'
import type { ReplyChannel } from '../../operation/reply-channel.ts'
import { requireScope } from '../../operation/scope.ts'
import { isOneTransaction } from '../../operation.ts'
import { sha256 } from '../../security/digest.ts'
import type { Gate } from '../../security/gate.ts'
import type { CallRequest, Rendered } from '../dialects/dialect.ts'
import { validate } from '../input/validate.ts'
import type { Edge } from './edge.ts'
import { unauthorized, validUntil } from './guards/authenticate.ts'
import { enterAgent } from './guards/authorise.ts'
import { hasMoved } from './guards/choose-project.ts'
import { passesGate, passGate } from './guards/pass-gate.ts'
import { readCode, requireRight } from './guards/require-code.ts'
import { fingerprint, type Repeatable } from './idempotency/repeatable.ts'
import type { Authorised, FoundAgent } from './request.ts'
import { type Input, runAlone, runOperation, runWithin } from './run-operation.ts'

/** Runs an authorised call: asks for a second factor, validates, runs once, renders. */
export async function runAuthorised(
  edge: Edge,
  authorised: Authorised,
  wanted: CallRequest,
  channel: ReplyChannel,
): Promise<Rendered> {
  try {
    return await runChecked(edge, authorised, wanted, channel)
  } catch (error) {
    const { rename } = wanted
    if (!rename || !(error instanceof ApiError) || !error.details) throw error
    throw error.withDetails(error.details.map((detail) => ({ ...detail, field: rename(detail.field) })))
  }
}

async function runChecked(
  edge: Edge,
  authorised: Authorised,
  wanted: CallRequest,
  channel: ReplyChannel,
): Promise<Rendered> {
  const { actor, operation } = authorised
  // The body may have taken long to come.
  if (operation.body) await requireStillAllowed(edge, authorised)
  const { body } = wanted
  // Some operations concern an agent that only their input names. That agent may ask for a code too.
  const early = (operation.concerns || operation.calls) && readInput(authorised, wanted)
  const agent = early ? await enterConcerned(edge, authorised, early) : authorised.agent
  const gates = operation.removesProject
    ? await enterAll(edge, authorised, readInput(authorised, wanted))
    : operation.acrossAgents
      ? await gatesInReach(edge, authorised)
      : gatesOf(edge, agent)
  const called = async () => (early ? gatesOfCalled(edge, authorised, early) : [])
  const code = await readCode(authorised, body, { gates, called })
  if (code !== undefined) {
    const tried = await edge.spendCode(actor.id, code)
    // A code counts once. A request that is sent again has spent its own, and gets its answer. A wrong code gets none.
    const isSpent = tried?.ok === false && tried.reason === 'reused'
    const repeatable = isSpent ? repeatableOf(authorised, wanted) : undefined
    const answered = repeatable && (await edge.idempotency.findAnswer(repeatable))
    if (answered) return answered
    requireRight(tried)
  }
  const input = early ?? readInput(authorised, wanted)
  await operation.check?.(input, edge.parts, actor)

  const { given } = wanted
  const uploads = await operation.receive?.({ ...input, given }, actor, edge.parts)
  try {
    return await runOnce(edge, authorised, wanted, channel, { input, agent, uploads })
  } finally {
    await uploads?.release()
  }
}

type Prepared = { input: Input; agent: FoundAgent | undefined; uploads: Uploads | undefined }

/** Runs the call; with an Idempotency-Key, only if it was not run before. */
async function runOnce(
  edge: Edge,
  authorised: Authorised,
  wanted: CallRequest,
  channel: ReplyChannel,
  { input, agent, uploads }: Prepared,
): Promise<Rendered> {
  const { given, writer, sent } = wanted
  const isWithin = isOneTransaction(authorised.operation, channel.mode)
  // A transaction that needs another connection deadlocks when all connections are in transactions.
  const known = isWithin ? await findClosed(authorised, edge) : undefined
  const closedAgents = async () => known ?? findClosed(authorised, edge)
  const { arrived, actor, operation } = authorised
  const { path, request_id, address } = arrived
  const call = {
    door: actor.console_session === undefined ? arrived.dialect.door : 'console',
    given,
    uploads,
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
    span: arrived.span,
    closedAgents,
  }
  const repeatable = repeatableOf(authorised, wanted)
  if (!repeatable) return runOperation(edge.parts, call, channel)
  // A client that sends an idempotency key can ask again, so the run goes on when the client hangs up.
  const unattended = { ...channel, onHangUp: undefined }
  return isWithin
    ? edge.idempotency.onceWithin(repeatable, (db, repeated) => runWithin(db, edge.parts, call, unattended, repeated))
    : edge.idempotency.once(repeatable, (held) => runAlone(edge.parts, call, unattended, held))
}

/** Undefined for a request without an Idempotency-Key. */
function repeatableOf(
  { arrived, actor, operation, params }: Authorised,
  { sent, idempotencyKey: key }: CallRequest,
): Repeatable | undefined {
  if (key === undefined) return undefined
  return {
    // The reply to a request about a run is found when the run is erased.
    request_id: params['request_id'] ?? arrived.request_id,
    scope: repeatScope(actor),
    project_id: actor.scope.project_id,
    key,
    fingerprint: fingerprint(operation.method, arrived.path, arrived.query, sent),
    secret: operation.secret ?? false,
  }
}

/** Refuses an actor whose right has ended since the request was let in, and an agent that has moved since. */
async function requireStillAllowed(edge: Edge, known: Authorised): Promise<void> {
  const { actor, agent, arrived } = known
  const { memo, now } = edge.parts
  const isSameAgent = !agent || memo.holds('snapshots', agent.snapshot)
  if (!isSameAgent && (await hasMoved(edge, actor, agent.id))) throw notFound('Agent', agent.id)
  const isSameKey = arrived.key?.verified && edge.keys.isStill(arrived.key.verified)
  if (!isSameKey && (await validUntil(edge, known)) <= now()) throw unauthorized()
}

function readInput({ operation, params }: Authorised, { query, body }: CallRequest): Input {
  return { params, query, body: operation.body ? validate(operation.body, body) : undefined }
}

/** Checks the security of the agent that the operation concerns, if there is one. */
async function enterConcerned(
  edge: Edge,
  { arrived, actor, operation, agent: named }: Authorised,
  input: Input,
): Promise<FoundAgent | undefined> {
  const ref = (await operation.concerns?.(input, edge.parts.storage.db)) ?? null
  if (ref === null) return named
  const agent = await edge.findAgent(actor.scope.project_id, ref)
  requireScope(actor, agent?.id ?? null)
  if (!agent) return named
  await enterAgent(arrived, agent, edge)
  return agent
}

function gatesOf({ gate }: Edge, agent: FoundAgent | undefined) {
  return agent?.gate ? [gate(), agent.gate] : [gate()]
}

/** The gates of all agents of the project that the operation removes. The request must pass each of them. */
async function enterAll(edge: Edge, { arrived, operation }: Authorised, input: Input): Promise<Gate[]> {
  const { gate, guardedIn, parts } = edge
  const project_id = (await operation.removesProject?.(input, parts.storage.db)) ?? null
  const own = project_id === null ? [] : (await guardedIn(project_id)).map((agent) => agent.gate)
  for (const each of own) passGate(arrived, each, parts.now())
  return [gate(), ...own]
}

/** The gates of all agents whose data the operation may change. An agent that is closed to the request is left out. */
async function gatesInReach({ gate, guardedIn, parts }: Edge, { arrived, actor }: Authorised): Promise<Gate[]> {
  const { project_id, agent_id: only } = actor.scope
  const time = parts.now()
  const guarded = (await guardedIn(project_id)).filter(({ id }) => (only ?? id) === id)
  return [gate(), ...guarded.map((agent) => agent.gate).filter((own) => passesGate(arrived, own, time))]
}

/** The gates of the agents that the input calls. One that is closed to the request is not found later: it asks for nothing. */
async function gatesOfCalled(
  { guardedIn, parts }: Edge,
  { arrived, actor, operation }: Authorised,
  input: Input,
): Promise<Gate[]> {
  const wanting = (await guardedIn(actor.scope.project_id)).filter(({ gate }) => gate.mfa?.has('invoke'))
  if (wanting.length === 0) return []
  const refs = (await operation.calls?.(input, parts.storage.db)) ?? []
  const called = wanting.filter(({ id, name }) => refs.some((ref) => ref === id || ref === name))
  return called.map(({ gate }) => gate).filter((gate) => passesGate(arrived, gate, parts.now()))
}

/** The agents that a list must leave out, because this request does not pass their own gates. */
async function findClosed({ arrived, actor }: Authorised, { guardedIn, parts }: Edge): Promise<string[]> {
  const time = parts.now()
  const closed = (await guardedIn(actor.scope.project_id)).filter(({ gate }) => !passesGate(arrived, gate, time))
  return closed.map(({ id }) => id)
}

/**
 * One application may sign tokens for many users under one name. They must not get each other's answers, so the user is
 * part of the scope. A console session may do less than its key, and must not get the key's answers. It is JSON, because
 * all parts may contain any separator. Of a token only the hash is stored: an erased user must not be named for another
 * day. A key of all projects does not get the answer of one project in another.
 */
function repeatScope({ kind, id, scope, reach, console_session }: Actor): string {
  const { project_id, user_id } = scope
  if (console_session !== undefined) return JSON.stringify([id, project_id, user_id, console_session])
  if (kind === 'token') return sha256(JSON.stringify([id, project_id, user_id]))
  return reach === 'service' ? JSON.stringify([id, project_id]) : id
}
