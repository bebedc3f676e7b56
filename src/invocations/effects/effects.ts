import type { Agent } from '../../agents/agent.ts'
import type { SnapshotParts } from '../../agents/agent-snapshot.ts'
import type { Definition } from '../../agents/definition.ts'
import { answerWrites } from '../../answers/store.ts'
import { comparedWrites } from '../../deployments/serving.ts'
import type { NewEvent } from '../../events.ts'
import { redact } from '../../lib/text/redact.ts'
import { cutToBytes } from '../../lib/text/text.ts'
import { logWrites, ownLogWrite } from '../../logs/store.ts'
import * as memory from '../../memory/store.ts'
import { metricWrites } from '../../metrics/store.ts'
import type { Parts } from '../../operation/parts.ts'
import { usdOf } from '../../runtime/models/usage.ts'
import type { LogEntry } from '../../runtime/outcome.ts'
import type { Write } from '../../storage/journal/rows.ts'
import type { Approval } from '../approvals/approval.ts'
import { approvalWrite } from '../approvals/approval-store.ts'
import { toldApproval, type WaitingOutcome } from '../approvals/ask-people.ts'
import {
  type EndedInvocation,
  hasOwnMemory,
  type Invocation,
  isStateless,
  type WaitingInvocation,
} from '../invocation.ts'
import { outputOf } from '../receipt.ts'

export type EffectParts = Pick<Parts, 'events' | 'newId'> & SnapshotParts

/** Everything that an ended invocation writes besides its own row: logs, metrics, memory and the event. */
export async function effects(
  invocation: EndedInvocation,
  agent: Agent,
  { memory: policy }: Definition,
  logs: LogEntry[],
  parts: EffectParts,
): Promise<Write[]> {
  const { events, newId } = parts
  const { id: request_id, status, context, door, finished_at: time, environment, version, deployment_id } = invocation
  const { user_id = null, session_id = null } = context
  const source = { agent_seq: agent.seq, request_id }
  const writes = logWrites(source, logs)
  writes.push(
    ownLogWrite(source, endEntry(invocation)),
    ...metricWrites({ ...invocation, agent_seq: agent.seq, time, outcome: status }),
  )
  // An answer that ends with tool calls for the caller is remembered only when the run continues.
  const remembers = policy.remember && !isStateless(context) && hasOwnMemory(invocation, agent)
  if (status === 'completed' && remembers && !invocation.rounds) {
    const { message, response, attachments } = invocation
    const said = { message, response: response ?? '', attachments }
    const served = { version, deployment_id }
    const answered = { agent_seq: agent.seq, user_id, session_id, request_id, served, ...said }
    writes.push(...memory.turnWrites({ ...answered, created_at: time, newId }))
  }
  if (door === 'trigger' && status !== 'cancelled') {
    writes.push(...answerWrites({ request_id, context, user_id, time }, agent, [null], { newId }))
  }
  // Only deployed versions are compared with each other.
  if (deployment_id !== null && status !== 'cancelled') {
    writes.push(...(await comparedWrites({ request_id, environment, deployment_id }, agent.id, parts)))
  }
  return [...writes, ...(await events.writes(endEvent(invocation, agent)))]
}

/**
 * What a run writes when it begins to wait for people: the approvals, the log entries since its last stored step, and
 * the event. A run that waits for anything else writes nothing here.
 */
export async function waitingEffects(
  invocation: WaitingInvocation,
  agent: Agent,
  { asked, steps, logs, usage, cost_nano }: WaitingOutcome & { asked: readonly Approval[] },
  { events, newId, now }: Pick<Parts, 'events' | 'newId' | 'now'>,
): Promise<Write[]> {
  if (asked.length === 0) return []
  const logged = steps.reduce((sum, step) => sum + step.logs.length, 0)
  const source = { agent_seq: agent.seq, request_id: invocation.id }
  const data = () => ({
    ...eventData({ ...invocation, tokens_used: usage.total_tokens, cost_nano }),
    approvals: asked.map(toldApproval),
  })
  const { id: agent_id, project_id } = agent
  const told = { type: 'agent.waiting' as const, project_id, agent_id, request_id: invocation.id }
  const event = await events.writes({ ...told, data, time: now() })
  const writes = [...asked.map(approvalWrite), ...logWrites(source, logs.slice(logged)), ...event]
  if (invocation.door !== 'trigger') return writes
  // A person in a conversation is asked there. Signing in works elsewhere.
  const calls = asked.flatMap(({ kind, call_id }) => (kind === 'connection' ? [] : call_id))
  const { context } = invocation
  const run = { request_id: invocation.id, context, user_id: context.user_id ?? null, time: now() }
  return [...writes, ...answerWrites(run, agent, calls, { newId })]
}

const LEVEL_OF = { completed: 'info', failed: 'error', cancelled: 'warn' } as const

function endEntry(invocation: EndedInvocation): LogEntry {
  const { status, door, error, duration_ms, tokens_used, cost_nano, version, environment, finished_at } = invocation
  const message = error && status === 'failed' ? `Invocation failed: ${redact(error.message)}` : `Invocation ${status}`
  const labels = { environment: redact(environment), version: version && redact(version) }
  const metadata = { duration_ms, tokens_used, cost_usd: usdOf(cost_nano), ...labels, ...(door !== 'api' && { door }) }
  return { timestamp: finished_at, level: LEVEL_OF[status], message, metadata }
}

const MAX_EVENT_RESPONSE = 32 * 1024 // bytes

/** What webhooks receive about the end. */
export function endEvent(invocation: EndedInvocation, { id: agent_id, project_id }: Agent): NewEvent {
  const { id: request_id, status, finished_at: time } = invocation
  return { type: `agent.${status}`, project_id, agent_id, request_id, data: () => eventData(invocation), time }
}

/** What every event about an invocation contains. */
function eventData({
  id,
  status,
  environment,
  version,
  tokens_used,
  cost_nano,
  duration_ms,
  response,
  structured,
  error,
  context,
  schedule_id,
}: Invocation) {
  const { user_id, session_id } = context
  return {
    request_id: id,
    status,
    environment,
    version,
    tokens_used,
    cost_usd: usdOf(cost_nano),
    duration_ms,
    ...(status === 'completed' && { response: cutToBytes(response ?? '', MAX_EVENT_RESPONSE) }),
    // A value can't be cut. If it's too long for the event, only the receipt contains it.
    ...(structured && Buffer.byteLength(response ?? '') <= MAX_EVENT_RESPONSE && outputOf({ structured, response })),
    ...(error && { error }),
    ...(schedule_id !== null && { schedule_id }),
    context: { user_id: user_id ?? null, session_id: session_id ?? null },
  }
}
