import type { z } from 'zod'
import * as agents from '../../agents/store.ts'
import { conflict, forbidden, invalid, notFound } from '../../errors.ts'
import { withKeyName } from '../../keys/key-names.ts'
import type { Actor } from '../../operation/actor.ts'
import type { Needs } from '../../operation/context.ts'
import { operation } from '../../operation.ts'
import type { Database } from '../../storage/database.ts'
import type { Invocation } from '../invocation.ts'
import { requireReach } from '../invocation-in-scope.ts'
import { announceQueued } from '../queue/enqueue.ts'
import { lock } from '../queue/queue-store.ts'
import { queueWaiting } from '../queue/waiting-store.ts'
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
    'Approves a call, perhaps with other arguments, or rejects it; or answers a question. Decided once: 409 for everybody who comes later. The key that started the run may decide only if the agent says `approvals.self`.',
  permission: 'approve',
  audit: { target: 'reply' },
  userTokens: true,
  idempotent: true,
  mfa: 'approve',
  errors: ['conflict'],
  params: ApprovalParams,
  body: DecideBody,
  data: ApprovalReply,

  /** Other arguments may take seconds to check, and the schema of an approval does not change. */
  async check({ params, body }, { runtime, storage }, actor) {
    if (body.arguments === undefined) return
    const { agent, approval } = await getForDecider(storage.db, actor, params, invocations.get)
    requireFitting(body, approval)
    const problem = await runtime.checkArguments(
      { project_id: agent.project_id, agent_id: agent.id },
      body.arguments,
      approval.input_schema,
    )
    const error = `does not fit the input_schema of ${approval.tool}: ${problem}`
    if (problem) throw invalid({ field: 'arguments', error })
  },

  async run({ params, body }, { db, actor, now }: Needs<'db' | 'actor' | 'now'>) {
    const { request_id } = params
    // Two deciders come one after the other.
    const { agent, invocation, approval } = await getForDecider(db, actor, params, lock)
    requireUndecided(await withKeyName(db, actor, approval, ['decided_by']), invocation, now())
    requireFitting(body, approval)

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

/** The approval, if the actor may decide it. */
async function getForDecider(
  db: Database,
  actor: Actor,
  { agent_id, request_id, call_id }: z.output<typeof ApprovalParams>,
  get: typeof lock,
) {
  const agent = await agents.get(db, agent_id)
  const invocation = await get(db, agent.seq, request_id)
  requireReach(actor, 'approve', request_id, { ...invocation, user_id: invocation.context.user_id })
  const approval = await findApproval(db, request_id, call_id)
  if (!approval) throw notFound('Approval', call_id)
  const refusal = await whyNotDecide(db, actor, approval)
  if (refusal) throw forbidden(refusal)
  return { agent, invocation, approval }
}

type Named = Approval & { decided_by_name: string | null }

function requireUndecided(approval: Named, invocation: Invocation, now: number): void {
  const { status, decided_by, decided_by_name, expires_at } = approval
  const decider = decided_by_name ?? decided_by
  if (status !== 'pending') throw conflict(`It was ${status} already${decider === null ? '' : ` by ${decider}`}`)
  if (invocation.status !== 'waiting') throw conflict(`The invocation does not wait: it is ${invocation.status}`)
  if (expires_at <= now) throw conflict('It was expired already')
}

function requireFitting(body: z.output<typeof DecideBody>, { kind }: Approval): void {
  const { decision, answer, arguments: changed } = body
  const isAnswer = decision === 'approve' && kind === 'question'
  if (isAnswer && answer === undefined) throw invalid({ field: 'answer', error: 'is required: this is a question' })
  if (!isAnswer && answer !== undefined) throw invalid({ field: 'answer', error: 'is for approving a question' })
  if (changed !== undefined && (decision === 'reject' || kind === 'question')) {
    throw invalid({ field: 'arguments', error: 'is for approving the call of a tool' })
  }
}
