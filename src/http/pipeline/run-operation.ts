import { ApiError, StillRunning } from '../../errors.ts'
import type { Actor } from '../../operation/actor.ts'
import type { Context, CountRun, RepeatableRequest, Uploads } from '../../operation/context.ts'
import type { Door } from '../../operation/door.ts'
import { KnownAnswer } from '../../operation/known-answer.ts'
import type { Parts } from '../../operation/parts.ts'
import { AcceptedReply, COMMITTED, type CommitReply, type ReplyChannel } from '../../operation/reply-channel.ts'
import { auditTarget, type Operation } from '../../operation.ts'
import type { GivenInput } from '../../runtime/given.ts'
import { tellMisshapen } from '../../storage/damaged-rows.ts'
import type { Database } from '../../storage/database.ts'
import type { JournalEntry } from '../../storage/journal/entry.ts'
import { commitPatiently, type LeasedWork } from '../../storage/journal/journal.ts'
import type { Span } from '../../telemetry/tracing.ts'
import type { RenderedReply, Writer } from '../dialects/dialect.ts'
import type { Idempotency } from './idempotency/idempotency.ts'
import type { HeldClaim, KeptReply, Repeatable, RunWithin } from './idempotency/repeatable.ts'
import { REPLAYED } from './idempotency/replay.ts'

/** How long a client without an `Idempotency-Key` waits for the database. It can't get the answer with another request. */
const BRIEFLY_MS = 2_000

/** The input of an operation, in its shapes. */
export type Input = { params: Record<string, unknown>; query: Record<string, unknown>; body: unknown }

/** One operation to run, and its actor. */
export type Call = {
  door: Door
  given: GivenInput | undefined
  uploads: Uploads | undefined
  countRun?: CountRun | undefined
  writer: Writer
  operation: Operation
  input: Input
  /** The names of the fields in the body. */
  fields: string[]
  actor: Actor
  /** The agent that the call is about. */
  agent_id: string | null
  /** See `Context`. */
  entered?: object | undefined
  path: string
  request_id: string
  span: Span | undefined
  /** Null for the command line on the server. */
  address: string | null
  /** The agents whose own gates the request doesn't pass. */
  closedAgents(): Promise<readonly string[]>
}

/** What makes a request with an Idempotency-Key run once. */
type Once = { repeatable: Repeatable; idempotency: Idempotency }

/**
 * Runs the operation of a call. With an Idempotency-Key, runs it only if it has not run before. Most changes are one
 * transaction: the effects, the audit entry and the stored reply commit together.
 */
export async function runOperation(
  parts: Parts,
  call: Call,
  channel: ReplyChannel,
  once?: Once,
): Promise<RenderedReply> {
  const { method, transaction } = call.operation
  // A client with an Idempotency-Key can retry, so the run continues if the client disconnects.
  const attended = once ? { ...channel, onHangUp: undefined } : channel
  const follow = (repeated: RepeatableRequest) => followRun(parts, call, attended, repeated)
  if (method === 'GET' || (transaction === false && channel.mode !== 'background')) {
    if (!once) return runAlone(parts, call, attended)
    return once.idempotency.once(once.repeatable, (held) => runAlone(parts, call, attended, held), follow)
  }
  // This is looked up before the transaction, because transactions that need a second connection could deadlock when
  // all connections are in use.
  const closed = await call.closedAgents()
  const within = { ...call, closedAgents: async () => closed }
  if (!once) return parts.storage.transaction((db) => runWithin(db, parts, within, attended))
  const run: RunWithin = (db, repeated) => runWithin(db, parts, within, attended, repeated)
  return once.idempotency.onceWithin(once.repeatable, run, follow)
}

/** Replies with the current state of the run that the same request has started. Nothing is written. */
async function followRun(
  parts: Parts,
  call: Call,
  channel: ReplyChannel,
  repeatable: RepeatableRequest,
): Promise<RenderedReply> {
  const { db } = parts.storage
  const commitReply = () => Promise.reject(new Error('a repeated request writes nothing'))
  const result = await call.operation.run(call.input, contextOf(parts, call, channel, { db, commitReply, repeatable }))
  const reply = replyTo(parts, call, result)
  // A stream has received the run's events, so none are made from the reply.
  return channel.mode === 'stream' ? reply : { ...reply, headers: { ...reply.headers, [REPLAYED]: 'true' } }
}

/** Runs the operation inside a transaction. Its effects and their audit entry commit together. */
async function runWithin(
  db: Database,
  parts: Parts,
  call: Call,
  channel: ReplyChannel,
  repeated?: RepeatableRequest,
): Promise<RenderedReply> {
  const commitReply = () => Promise.reject(new Error('a transaction commits on its own'))
  const result = await call.operation.run(
    call.input,
    contextOf(parts, call, channel, { db, commitReply, repeatable: repeated }),
  )
  const { audit } = call.operation
  if (audit && (audit.when?.(call.input) ?? true)) await recordChange(parts, call, 'success', result, db)
  return replyTo(parts, call, result)
}

/** Runs an operation that isn't one transaction. Its effects and the stored reply commit together. */
async function runAlone(parts: Parts, call: Call, channel: ReplyChannel, held?: HeldClaim): Promise<RenderedReply> {
  const { operation, input } = call
  const { db } = parts.storage
  const isAudited = operation.audit && (operation.audit.when?.(input) ?? true)
  // Without a transaction, a crash may come between the change and its audit entry, so an entry is also written first.
  if (isAudited) await recordChange(parts, call, 'started', undefined, db)
  let committed: RenderedReply | undefined
  const commitReply: CommitReply = async (entry, answer, work) => {
    committed = answer instanceof ApiError ? undefined : replyTo(parts, call, answer)
    const isWritten = held
      ? await writeHeld(parts, { entry, work }, committed && keptReply(answer, committed), held)
      : await commitPatiently(entry, work, parts, BRIEFLY_MS)
    return isWritten ? COMMITTED : undefined
  }
  const result = await operation.run(input, contextOf(parts, call, channel, { db, commitReply, repeatable: held }))
  const written = result === COMMITTED ? committed : undefined
  if (isAudited) await recordChange(parts, call, 'success', result, db)
  const reply = written ?? replyTo(parts, call, result)
  if (held && !written && !(await held.complete(keptReply(result, reply)))) throw takenOver()
  return reply
}

/** In this mode, only a run that waits has a reply before its answer. */
function keptReply(result: unknown, reply: RenderedReply): KeptReply {
  return result instanceof AcceptedReply ? 'waiting' : reply
}

function contextOf(
  parts: Parts,
  call: Call,
  channel: ReplyChannel,
  { db, commitReply, repeatable }: Pick<Context, 'db' | 'commitReply' | 'repeatable'>,
): Context {
  const { actor, countRun, door, entered, given, request_id, span, uploads } = call
  // The parts are the context's prototype, because copying them for each call would take 2.5% of an invocation's time.
  const context: Parts = Object.create(parts)
  return Object.assign(context, channel, {
    db,
    actor,
    entered,
    door,
    given,
    uploads,
    countRun,
    request_id,
    repeatable,
    commitReply,
    span,
    shownAgents: async () => {
      const { project_id, agent_id: only } = actor.scope
      return { project_id, only, except: await call.closedAgents() }
    },
  })
}

function replyTo({ storage }: Pick<Parts, 'storage'>, call: Call, result: unknown): RenderedReply {
  const { writer, operation, input, path } = call
  // A search has its paging parameters in the body.
  const asked = { path, paging: operation.method === 'GET' ? input.query : input.body }
  if (result instanceof KnownAnswer) {
    return result.replyIn(writer, () => replyTo({ storage }, call, result.answer))
  }
  const { leftOut, ...reply } = writer.reply(operation, result, asked)
  for (const { id, problem } of leftOut ?? []) tellMisshapen(storage.db, String(id), problem)
  return reply
}

/**
 * Writes the end of work that holds a claim. If that fails, stored work continues elsewhere, and a repeated request
 * must find it (`StillRunning`).
 */
async function writeHeld(
  parts: Parts,
  { entry, work }: { entry: JournalEntry; work: LeasedWork },
  reply: KeptReply | undefined,
  held: HeldClaim,
): Promise<boolean> {
  try {
    if (await commitPatiently(held.withReply(entry, reply), work, parts)) return true
    const standing = await held.standing()
    if (standing === 'ended') return true
    if (standing === 'held') throw new StillRunning('Another node is handling this request. Try again shortly.')
    // Another request has the key. If this work is stored, that request follows it, so its end must still be written.
    if (!(await commitPatiently(entry, work, parts))) throw takenOver()
    return true
  } catch (error) {
    if (!work.lease || error instanceof ApiError) throw error
    throw new StillRunning('The reply could not be stored. Try again shortly.', error)
  }
}

async function recordChange(
  { audit }: Parts,
  call: Call,
  outcome: 'started' | 'success',
  result: unknown,
  db: Database,
): Promise<void> {
  const { actor, agent_id, operation, input, fields, request_id, address } = call
  const target = auditTarget(operation, input, result)
  await audit.record(db, {
    actor,
    action: operation.id,
    project_id: actor.scope.project_id,
    agent_id: operation.audit?.isAgent ? target : agent_id,
    target,
    request_id,
    address,
    fields,
    outcome,
  })
}

function takenOver(): ApiError {
  return new ApiError('idempotency_key_in_use', 'Another run took over this Idempotency-Key.', { retry_after: 1 })
}
