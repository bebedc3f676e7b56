import type { Agent } from '../../agents/agent.ts'
import type { NewEvent } from '../../events.ts'
import { cutToBytes } from '../../lib/text/text.ts'
import { usdOf } from '../../runtime/models/usage.ts'
import type { EndedInvocation, Invocation } from '../invocation.ts'
import { outputOf } from '../receipt.ts'

const MAX_EVENT_RESPONSE = 32 * 1024 // bytes

/** What webhooks hear of the end. */
export function endEvent(invocation: EndedInvocation, { id: agent_id, project_id }: Agent): NewEvent {
  const { id: request_id, status, finished_at: time } = invocation
  return { type: `agent.${status}`, project_id, agent_id, request_id, data: () => eventData(invocation), time }
}

/** What every event about an invocation says of it. */
export function eventData({
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
    // A value cannot be cut. A longer one is in the receipt.
    ...(structured && Buffer.byteLength(response ?? '') <= MAX_EVENT_RESPONSE && outputOf({ structured, response })),
    ...(error && { error }),
    ...(schedule_id !== null && { schedule_id }),
    context: { user_id: user_id ?? null, session_id: session_id ?? null },
  }
}
