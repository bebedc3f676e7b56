import type { z } from 'zod'
import * as agents from '../../agents/store.ts'
import { invalid } from '../../errors.ts'
import { withKeyName } from '../../keys/key-names.ts'
import type { Actor } from '../../operation/actor.ts'
import type { Parts } from '../../operation/parts.ts'
import { operation } from '../../operation.ts'
import type { Invocation } from '../invocation.ts'
import { getInScope, requireReach } from '../invocation-in-scope.ts'
import { ApprovalParams, ApprovalReply, DecideBody } from './approval.ts'
import { findApproval } from './approval-store.ts'
import { settleDecision } from './settle-decision.ts'
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
    const requireRun = (invocation: Invocation) =>
      requireReach(actor, 'approve', request_id, { ...invocation, user_id: invocation.context.user_id })
    const deciding = { actor, agent, request_id, call_id, decision: body, requireRun }
    const decided = await settleDecision(db, deciding, now())
    const named = await withKeyName(db, actor, decided, ['started_by', 'decided_by'])
    return { ...named, agent_id: agent.id, not_for_you: null }
  },
})

type Decision = z.output<typeof DecideBody>

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
