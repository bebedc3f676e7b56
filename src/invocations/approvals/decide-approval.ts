import type { z } from 'zod'
import * as agents from '../../agents/store.ts'
import { conflict, forbidden, invalid, notFound } from '../../errors.ts'
import { withKeyName } from '../../keys/key-names.ts'
import type { Actor } from '../../operation/actor.ts'
import type { Parts } from '../../operation/parts.ts'
import { operation } from '../../operation.ts'
import type { Invocation } from '../invocation.ts'
import { getInScope, requireReach } from '../invocation-in-scope.ts'
import { lock } from '../queue/queue-store.ts'
import { queueWaiting } from '../queue/waiting-store.ts'
import { announceQueued } from '../runs.ts'
import * as invocations from '../store.ts'
import { type Approval, ApprovalParams, ApprovalReply, DecideBody } from './approval.ts'
import { findApproval, listPending, settleApproval } from './approval-store.ts'
import { whyNotDecide } from './who-decides.ts'

export const decideApproval = operation({
  id: 'decideApproval',
  method: 'POST',
  path: '/v1/agents/{agent_id}/invocations/{request_id}/approvals/{call_id}',
  summary: 'Decide an approval',
  description:
    'Approves or rejects a tool call, or answers a question. With an approval, you can change the arguments of the call. Each approval is decided once; later requests get 409. The key that started the run can decide only if the agent sets `approvals.self`.',
  access: { permission: 'approve', userTokens: true },
  mfa: { policy: 'approve' },
  audit: { target: 'reply' },
  idempotent: true,
  input: {
    params: ApprovalParams,
    body: DecideBody,
    check: ({ params, body }, parts, actor) => checkArguments(params, body, parts, actor),
  },
  answer: { data: ApprovalReply, errors: ['conflict'] },

  async run({ params: { agent_id, request_id, call_id }, body }, { db, actor, now }) {
    const agent = await agents.get(db, agent_id)
    // If two people decide at once, one of them waits for the other.
    await lock(db, agent.seq, request_id)
    const invocation = await invocations.get(db, agent.seq, request_id)
    requireReach(actor, 'approve', request_id, { ...invocation, user_id: invocation.context.user_id })
    const approval = await findApproval(db, request_id, call_id)
    if (!approval) throw notFound('Approval', call_id)
    const refusal = await whyNotDecide(db, actor, approval)
    if (refusal) throw forbidden(refusal)
    requireUndecided(await withKeyName(db, actor, approval, ['decided_by']), invocation, now())
    checkDecision(body, approval)

    const { decision, ...how } = body
    const status = decision === 'approve' ? 'approved' : 'rejected'
    const decided = await settleApproval(db, approval, { status, at: now(), by: actor.id, ...how })
    if ((await listPending(db, [request_id])).length === 0) {
      await queueWaiting(db, request_id)
      await announceQueued(db, agent)
    }
    const named = await withKeyName(db, actor, decided, ['started_by', 'decided_by'])
    return { ...named, agent_id: agent.id, not_for_you: null }
  },
})

type Decision = z.output<typeof DecideBody>

type NamedApproval = Approval & { decided_by_name: string | null }

function requireUndecided(approval: NamedApproval, invocation: Invocation, now: number): void {
  const { status, decided_by, decided_by_name, expires_at } = approval
  const decider = decided_by_name ?? decided_by
  if (status !== 'pending')
    throw conflict(`This approval has already been ${status}${decider === null ? '' : ` by ${decider}`}.`)
  if (invocation.status !== 'waiting')
    throw conflict(`The invocation is not waiting for a decision: its status is ${invocation.status}.`)
  if (expires_at <= now) throw conflict('This approval has expired.')
}

function checkDecision({ decision, answer, arguments: changed }: Decision, { kind }: Approval): void {
  const isAnswer = decision === 'approve' && kind === 'question'
  if (isAnswer && answer === undefined)
    throw invalid({ field: 'answer', error: 'is required, because this is a question' })
  if (!isAnswer && answer !== undefined)
    throw invalid({ field: 'answer', error: 'is only allowed when you approve a question' })
  if (changed !== undefined && (decision === 'reject' || kind === 'question' || kind === 'connection')) {
    throw invalid({ field: 'arguments', error: 'is only allowed when you approve a tool call' })
  }
}

/**
 * Checks changed arguments before the run is locked, because the check may take a while. If the actor may not decide,
 * or decides too late, this throws nothing, because the operation reports it.
 */
async function checkArguments(
  { agent_id, request_id, call_id }: z.output<typeof ApprovalParams>,
  { decision, arguments: changed }: Decision,
  { runtime, storage: { db } }: Pick<Parts, 'runtime' | 'storage'>,
  actor: Actor,
): Promise<void> {
  if (changed === undefined || decision === 'reject') return
  const agent = await agents.get(db, agent_id)
  await getInScope(db, actor, 'approve', { agent_seq: agent.seq, id: request_id })
  const approval = await findApproval(db, request_id, call_id)
  if (approval?.status !== 'pending' || approval.kind === 'question' || approval.kind === 'connection') return
  if (await whyNotDecide(db, actor, approval)) return
  const { tool, input_schema } = approval
  const problem = await runtime.checkArguments(
    { project_id: agent.project_id, agent_id: agent.id },
    changed,
    input_schema,
  )
  if (problem) throw invalid({ field: 'arguments', error: `does not match the input_schema of ${tool}: ${problem}` })
}
