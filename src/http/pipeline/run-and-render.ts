import { ApiError, conflict } from '../../errors.ts'
import type { Actor } from '../../operation/actor.ts'
import type { Context } from '../../operation/context.ts'
import type { Delivery } from '../../operation/delivery.ts'
import type { Parts } from '../../operation/parts.ts'
import { Unwritten } from '../../operation/unwritten.ts'
import { changes, isAudited, type Operation } from '../../operation.ts'
import type { Database } from '../../storage/database.ts'
import type { JournalEntry } from '../../storage/journal/entry.ts'
import { type Rendered, render } from '../dialects/respond.ts'
import type { AgentGate } from './exchange.ts'
import type { Held } from './idempotency.ts'

export type Run = {
  exchange: {
    path: string
    request_id: string
    actor: Actor | undefined
    agent: Pick<AgentGate, 'id'> | undefined
    /** Null on the host itself. */
    address: string | null
  }
  operation: Operation
  input: { params: unknown; query: unknown; body: unknown }
  /** The names of the fields that were sent. */
  fields: string[]
  delivery: Delivery
  /** The agents whose own gate the request does not pass. */
  closedAgents(): Promise<readonly string[]>
  held?: Held
}

/** The effects, their audit entry and, for a request that may be repeated, its reply commit together. */
export async function runAndRender({ parts }: { parts: Parts }, run: Run): Promise<Rendered> {
  const { exchange, operation, input, delivery, held } = run
  const { path, request_id } = exchange
  // A search has its page in the body.
  const paging = operation.method === 'GET' ? input.query : input.body
  const toReply = (result: unknown) => render(operation, result, { path, paging })
  // Written out: a second spread would cost more than all the rest of this function.
  const contextOn = (db: Database): Context => ({
    ...parts,
    db,
    actor: exchange.actor as Actor,
    request_id,
    shownAgents: async () => ({ only: (exchange.actor as Actor).scope.agent_id, except: await run.closedAgents() }),
    mode: delivery.mode,
    onHangUp: delivery.onHangUp,
    emit: delivery.emit,
    openStream: delivery.openStream,
    last_event_id: delivery.last_event_id,
  })

  if (!changes(operation) || operation.transaction === false) {
    // Outside of a transaction a crash could come between the change and its entry, so one is written before.
    if (isAudited(operation)) await recordChange(parts, run, 'started', undefined, parts.storage.db)
    const result = await operation.run(input, contextOn(parts.storage.db))
    if (isAudited(operation)) await recordChange(parts, run, 'success', result, parts.storage.db)
    if (result instanceof Unwritten) return await write(result, toReply, parts, held)
    const reply = toReply(result)
    if (held && !(await held.complete(parts.storage.db, reply))) throw takenOver()
    return reply
  }

  return parts.storage.transaction(async (db) => {
    const result = await operation.run(input, contextOn(db))
    if (isAudited(operation)) await recordChange(parts, run, 'success', result, db)
    const reply = toReply(result)
    if (held && !(await held.complete(db, reply))) throw takenOver()
    return reply
  })
}

/** What the operation left and, for a request that may be repeated, the reply go to disk in one commit. */
async function write(
  { entry, answer, lost, ended }: Unwritten,
  toReply: (result: unknown) => Rendered,
  { journal }: Parts,
  held: Held | undefined,
): Promise<Rendered> {
  try {
    const reply = answer instanceof ApiError ? undefined : toReply(answer)
    const written = await journal.commit(held && reply ? withReply(entry, held, reply) : entry)
    if (!written) throw conflict(lost ?? 'Another node was faster')
    if (!reply) throw answer
    return reply
  } finally {
    ended?.()
  }
}

/** The entry, and with it the reply for whoever repeats the request. */
function withReply(entry: JournalEntry, held: Held, reply: Rendered): JournalEntry {
  return {
    ...entry,
    async guard(db) {
      if (entry.guard && !(await entry.guard(db))) return false
      // The guard may have written: a lost claim must undo that too, so it is thrown.
      if (!(await held.complete(db, reply))) throw takenOver()
      return true
    },
  }
}

async function recordChange(
  { audit }: Parts,
  run: Run,
  outcome: 'started' | 'success',
  result: unknown,
  db: Database,
): Promise<void> {
  const { exchange, operation, input, fields } = run
  const { actor = null, agent, request_id, address } = exchange
  const made = (result as { id?: unknown } | undefined)?.id
  const target = typeof made === 'string' ? made : (Object.values(Object(input.params)).at(-1) as string | undefined)
  const isAgent = target?.startsWith('agt_') ? target : null
  await audit.record(db, {
    actor,
    action: operation.id,
    agent_id: agent?.id ?? isAgent,
    target: target ?? null,
    request_id,
    address,
    fields,
    outcome,
  })
}

function takenOver(): ApiError {
  return new ApiError('idempotency_key_in_use', 'Another run took over this Idempotency-Key', { retry_after: 1 })
}
