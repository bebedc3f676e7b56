import { ApiError, StillRunning } from '../../errors.ts'
import type { Actor } from '../../operation/actor.ts'
import { type CommitReply, CommittedReply } from '../../operation/committed-reply.ts'
import type { Context, Repeated, Uploads } from '../../operation/context.ts'
import type { Door } from '../../operation/door.ts'
import { KnownAnswer } from '../../operation/known-answer.ts'
import type { Parts } from '../../operation/parts.ts'
import type { ReplyChannel } from '../../operation/reply-channel.ts'
import { auditTarget, isAudited, isOneTransaction, type Operation } from '../../operation.ts'
import type { AskedGiven } from '../../runtime/given.ts'
import { tellMisshapen } from '../../storage/damaged-rows.ts'
import type { Database } from '../../storage/database.ts'
import { commitPatiently } from '../../storage/journal/commit-patiently.ts'
import type { JournalEntry } from '../../storage/journal/entry.ts'
import type { Lease } from '../../storage/leases/lease.ts'
import type { Span } from '../../telemetry/tracing.ts'
import type { Rendered, Writer } from '../dialects/dialect.ts'
import type { Held } from './idempotency/repeatable.ts'

/** The input of an operation, in its shapes. */
export type Input = { params: Record<string, unknown>; query: Record<string, unknown>; body: unknown }

/** One operation to run, and for whom. */
export type Call = {
  door: Door
  given: AskedGiven | undefined
  uploads: Uploads | undefined
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
  /** Null for the command line on the host. */
  address: string | null
  /** The agents whose own gates the request does not pass. */
  closedAgents(): Promise<readonly string[]>
}

/** Runs the operation of a call that carries no Idempotency-Key. */
export function runOperation(parts: Parts, call: Call, channel: ReplyChannel): Promise<Rendered> {
  if (!isOneTransaction(call.operation, channel.mode)) return runAlone(parts, call, channel)
  return parts.storage.transaction((db) => runWithin(db, parts, call, channel))
}

/** Runs the operation inside a transaction: its effects and their audit entry commit together. */
export async function runWithin(
  db: Database,
  parts: Parts,
  call: Call,
  channel: ReplyChannel,
  repeated?: Repeated,
): Promise<Rendered> {
  const commitReply = () => Promise.reject(new Error('what a transaction leaves commits with it'))
  const result = await call.operation.run(
    call.input,
    contextOf(parts, call, channel, { db, commitReply, repeatable: repeated }),
  )
  if (isAudited(call.operation, call.input)) await recordChange(parts, call, 'success', result, db)
  return replyTo(parts, call, result)
}

/** Runs an operation that is not one transaction. What it leaves and the stored reply commit together. */
export async function runAlone(parts: Parts, call: Call, channel: ReplyChannel, held?: Held): Promise<Rendered> {
  const { operation, input } = call
  const { db } = parts.storage
  // Without a transaction a crash can come between the change and its audit entry, so another entry is written before.
  if (isAudited(operation, input)) await recordChange(parts, call, 'started', undefined, db)
  const commitReply: CommitReply = async (entry, answer, lease) => {
    const reply = answer instanceof ApiError ? undefined : replyTo(parts, call, answer)
    const isWritten = held ? await writeHeld(parts, { entry, lease }, reply, held) : await parts.journal.commit(entry)
    return isWritten ? new CommittedReply(reply) : undefined
  }
  const result = await operation.run(input, contextOf(parts, call, channel, { db, commitReply, repeatable: held }))
  const written = result instanceof CommittedReply ? (result.reply as Rendered) : undefined
  if (isAudited(operation, input)) await recordChange(parts, call, 'success', result, db)
  const reply = written ?? replyTo(parts, call, result)
  if (held && !written && !(await held.complete(reply))) throw takenOver()
  return reply
}

function contextOf(
  parts: Parts,
  call: Call,
  channel: ReplyChannel,
  { db, commitReply, repeatable }: Pick<Context, 'db' | 'commitReply' | 'repeatable'>,
): Context {
  const { actor, door, entered, given, request_id, span, uploads } = call
  // All parts are below it: to copy them for each call would take a fortieth of the time of an invocation.
  const context: Parts = Object.create(parts)
  return Object.assign(context, channel, {
    db,
    actor,
    entered,
    door,
    given,
    uploads,
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

function replyTo({ storage }: Pick<Parts, 'storage'>, call: Call, result: unknown): Rendered {
  const { writer, operation, input, path } = call
  // A search has its paging in the body.
  const asked = { path, paging: operation.method === 'GET' ? input.query : input.body }
  const rendered = (answer: unknown) => {
    const { leftOut = [], ...reply } = writer.reply(operation, answer, asked)
    for (const { id, problem } of leftOut) tellMisshapen(storage.db, String(id), problem)
    return reply
  }
  return result instanceof KnownAnswer ? result.replyIn(writer, () => rendered(result.answer)) : rendered(result)
}

/** Stored work goes on if its end cannot be written, and a repeated request must find it: see `StillRunning`. */
async function writeHeld(
  parts: Parts,
  { entry, lease }: { entry: JournalEntry; lease: Lease | undefined },
  reply: Rendered | undefined,
  held: Held,
): Promise<boolean> {
  try {
    if (await commitPatiently(held.withReply(entry, reply), lease, parts)) return true
    if (await held.isOurs()) throw new StillRunning('Another node goes on with this request, try again shortly')
    // Another request has the key. It follows this work if it is stored, so its end is written all the same.
    if (!lease || !(await commitPatiently(entry, lease, parts))) throw takenOver()
    return true
  } catch (error) {
    if (!lease || error instanceof ApiError) throw error
    throw new StillRunning('The answer could not be stored, try again shortly', error)
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
  return new ApiError('idempotency_key_in_use', 'Another run took over this Idempotency-Key', { retry_after: 1 })
}
