import { formatTime } from '../../lib/time.ts'
import type { Parts } from '../../operation/parts.ts'
import type { RunOutcome } from '../../runtime/run-outcome.ts'
import type { WaitingInvocation } from '../invocation.ts'
import type { Approval } from './approval.ts'

export type WaitingOutcome = Extract<RunOutcome, { status: 'waiting' }>

/** What a run asks people, as rows of the approvals table. */
export function approvalsOf(
  { id: request_id, agent_seq, attempt, context, created_by }: WaitingInvocation,
  { asks, until: expires_at }: WaitingOutcome,
  { newId, now }: Pick<Parts, 'newId' | 'now'>,
): Approval[] {
  const created_at = now()
  const { user_id = null, session_id = null } = context
  return asks.map(({ index: call_index, call_id, kind, tool, arguments: given, input_schema, connection }) => ({
    id: newId('apr', created_at),
    agent_seq,
    request_id,
    call_id,
    call_index,
    attempt,
    kind,
    tool,
    arguments: given,
    input_schema,
    status: 'pending',
    user_id,
    session_id,
    started_by: created_by,
    created_at,
    expires_at,
    decided_at: null,
    decided_by: null,
    changed_arguments: null,
    note: null,
    answer: null,
    connection_id: connection?.id ?? null,
    link_id: connection?.link.link_id ?? null,
    holder: connection?.holder ?? null,
    grant_id: connection?.grant_id ?? null,
    connection: connection?.link,
  }))
}

const MAX_EVENT_ARGUMENTS = 8 * 1024 // bytes

/** The approval as the run's event contains it. Long arguments are left out. */
export function toldApproval({ call_id, kind, tool, arguments: given, expires_at, connection }: Approval) {
  const isShort = Buffer.byteLength(JSON.stringify(given)) <= MAX_EVENT_ARGUMENTS
  const times = { expires_at: formatTime(expires_at) }
  return { call_id, kind, tool, ...(isShort && { arguments: given }), ...times, ...(connection && { connection }) }
}
