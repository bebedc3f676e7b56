import type { Agent } from '../agents/agent.ts'
import type { Definition } from '../agents/definition.ts'
import { redact } from '../lib/text/redact.ts'
import { cutToBytes } from '../lib/text/text.ts'
import { withValue } from '../lib/with-value.ts'
import { logWrites, ownLogWrite } from '../logs/store.ts'
import * as memory from '../memory/store.ts'
import { metricWrites } from '../metrics/store.ts'
import type { Parts } from '../operation/parts.ts'
import type { Remembered } from '../operation/recall.ts'
import type { LiveRun } from '../runtime/live-runs.ts'
import type { LogEntry, RunOutcome } from '../runtime/outcome.ts'
import type { JournalEntry } from '../storage/journal/entry.ts'
import type { Write } from '../storage/journal/rows.ts'
import { LEASE_MS } from '../storage/leases/lease.ts'
import { CANCELLED, type EndedInvocation, type Invocation, STOPPED } from './invocation.ts'
import * as invocations from './store.ts'

/** A run that waits this long is stored before it ends; shorter ones are stored once. */
const STORED_AFTER_MS = 250
const MAX_EVENT_RESPONSE = 32 * 1024 // bytes

/** A run that may begin: `invocation` says running and when it started. */
export type Started = {
  invocation: Invocation
  agent: Agent
  definition: Definition
  run: LiveRun
  /** The node's name in the leases. */
  owner: string
  /** Whether the invocation is in the store already. */
  stored: boolean
  /** Whether what is said is recorded for followers. */
  streaming: boolean
}

export type Ended = { invocation: EndedInvocation; entry: JournalEntry }

/** Message to outcome. What the run leaves is returned, not written: its reply must commit with it. */
export async function runInvocation(started: Started, parts: Parts): Promise<Ended> {
  const { agent, definition, run, streaming } = started
  const { message, context, attempt, created_by } = started.invocation
  run.began = { attempt, user_id: context.user_id, created_by }
  let { stored } = started
  let storing: Promise<unknown> | undefined
  let storeSoon: NodeJS.Timeout | undefined
  const onWait = () => {
    if (!stored) storeSoon ??= setTimeout(() => (storing = storeRunning()), STORED_AFTER_MS)
  }

  const storeRunning = async () => {
    const { invocation, owner } = started
    const lease = { key: [invocation.id], owner, until: parts.now() + LEASE_MS }
    try {
      stored = await parts.journal.commit({ writes: [invocations.insertion(invocation, lease)] })
      run.lease = lease
    } catch (err) {
      parts.log.warn({ err, request_id: invocation.id }, 'could not store a running invocation')
    }
  }

  let outcome: RunOutcome
  try {
    const stateless = isStateless(context)
    if (!stateless) onWait()
    const { history, recalled } = stateless ? NOTHING : await remember(started, parts)
    outcome = await parts.runtime.run({
      agent_id: agent.id,
      agent: definition,
      message,
      context,
      history,
      recalled,
      cancellation: run.cancellation,
      emit: streaming ? (event) => run.record(event) : undefined,
      onWait,
    })
  } finally {
    if (storeSoon) clearTimeout(storeSoon)
    if (storing) await storing
  }

  parts.telemetry.runs.add(1, outcome.status)
  parts.telemetry.tokens.add(outcome.usage.input_tokens, 'in')
  parts.telemetry.tokens.add(outcome.usage.output_tokens, 'out')
  // A run is cancelled by somebody, or else by the stop of the service.
  const error = outcome.status === 'cancelled' && !run.cancellation.cancelled ? STOPPED : errorOf(outcome)
  const invocation = endedBy(started.invocation, outcome, error, parts.now())
  const writes = await effects(invocation, agent, definition, outcome.logs, parts)
  if (!stored) return { invocation, entry: { writes: [invocations.insertion(invocation), ...writes], reserved: true } }
  return {
    invocation,
    entry: { writes, reserved: true, endings: [invocations.ending(invocation, started.owner)] },
  }
}

const NOTHING: Remembered = { history: [], recalled: [] }

function isStateless({ user_id, session_id }: Invocation['context']): boolean {
  return user_id === undefined && session_id === undefined
}

/** The session so far, and what else is known of this user. */
function remember({ agent, definition, invocation }: Started, { recall }: Parts): Promise<Remembered> {
  const { user_id = null, session_id = null } = invocation.context
  return recall.remember({ agent_seq: agent.seq, user_id, session_id }, invocation.message, definition.memory)
}

function endedBy(
  invocation: Invocation,
  outcome: RunOutcome,
  error: Invocation['error'],
  now: number,
): EndedInvocation {
  const { input_tokens, output_tokens, total_tokens } = outcome.usage
  return {
    ...invocation,
    status: outcome.status,
    // A run that did not complete leaves what it had said, if anything.
    response: outcome.status === 'completed' ? outcome.response : outcome.response || null,
    error,
    input_tokens,
    output_tokens,
    tokens_used: total_tokens,
    steps: outcome.steps,
    duration_ms: Math.max(0, now - (invocation.started_at ?? now)),
    finished_at: now,
  }
}

function errorOf(outcome: RunOutcome): Invocation['error'] {
  if (outcome.status === 'completed') return null
  if (outcome.status === 'cancelled') return CANCELLED
  return { code: outcome.reason === 'timeout' ? 'timeout' : 'server_error', message: outcome.message }
}

/** Everything that an ended invocation leaves besides its own row: logs, metrics, memory, the event. */
export function effects(
  invocation: EndedInvocation,
  agent: Agent,
  { memory: policy }: Definition,
  logs: LogEntry[],
  { events, newId }: Parts,
): Write[] | Promise<Write[]> {
  const { id: request_id, status, context, finished_at: time, duration_ms } = invocation
  const { user_id = null, session_id = null } = context
  const source = { agent_seq: agent.seq, request_id }
  const writes = logWrites(source, logs)
  writes.push(
    ownLogWrite(source, summary(invocation)),
    ...metricWrites({ agent_seq: agent.seq, time, duration_ms, outcome: status }),
  )
  // With neither user nor session there is nobody to remember it for.
  if (status === 'completed' && policy.remember && !isStateless(context)) {
    const { message, response } = invocation
    const exchange = { agent_seq: agent.seq, user_id, session_id, request_id, message, response: response ?? '' }
    writes.push(...memory.turnWrites({ ...exchange, created_at: time, newId }))
  }
  const found = events.writes({ type: `agent.${status}`, agent_id: agent.id, data: () => eventData(invocation), time })
  return withValue(found, (more) => [...writes, ...more])
}

const LEVEL_OF = { completed: 'info', failed: 'error', cancelled: 'warn' } as const

function summary(invocation: EndedInvocation): LogEntry {
  const { status, error, duration_ms, tokens_used, version, environment, finished_at } = invocation
  const message = error && status === 'failed' ? `Invocation failed: ${redact(error.message)}` : `Invocation ${status}`
  const labels = { environment: redact(environment), version: version && redact(version) }
  const metadata = { duration_ms, tokens_used, ...labels }
  return { timestamp: finished_at, level: LEVEL_OF[status], message, metadata }
}

function eventData({
  id,
  status,
  environment,
  version,
  tokens_used,
  duration_ms,
  response,
  error,
  context,
}: Invocation) {
  const { user_id, session_id } = context
  return {
    request_id: id,
    status,
    environment,
    version,
    tokens_used,
    duration_ms,
    ...(status === 'completed' && { response: cutToBytes(response ?? '', MAX_EVENT_RESPONSE) }),
    ...(error && { error }),
    context: { user_id: user_id ?? null, session_id: session_id ?? null },
  }
}
