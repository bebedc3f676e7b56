import type { z } from 'zod'
import type { Agent } from '../../agents/agent.ts'
import { conflict, forbidden, invalid, notFound } from '../../errors.ts'
import { withKeyName } from '../../keys/key-names.ts'
import type { Actor } from '../../operation/actor.ts'
import type { Database } from '../../storage/database.ts'
import type { Invocation } from '../invocation.ts'
import { lock } from '../queue/queue-store.ts'
import { queueWaiting } from '../queue/waiting-store.ts'
import { announceQueued } from '../runs.ts'
import * as invocations from '../store.ts'
import type { Approval, DecideBody } from './approval.ts'
import { findApproval, listPending, settleApproval } from './approval-store.ts'
import { whyNotDecide } from './who-decides.ts'

type Decision = z.output<typeof DecideBody>

type Deciding = {
  actor: Actor
  agent: Agent
  request_id: string
  call_id: string
  decision: Decision
  /** Throws if the actor may not know of the run. */
  requireRun(invocation: Invocation): void
}

/**
 * Settles an approval. If it was the run's last one, the run continues. Throws if the actor may not decide, or if it's too
 * late.
 */
export async function settleDecision(
  db: Database,
  { actor, agent, request_id, call_id, decision: body, requireRun }: Deciding,
  now: number,
): Promise<Approval> {
  // If two people decide at once, one of them waits for the other.
  await lock(db, agent.seq, request_id)
  const invocation = await invocations.get(db, agent.seq, request_id)
  requireRun(invocation)
  const approval = await findApproval(db, request_id, call_id)
  if (!approval) throw notFound('Approval', call_id)
  const refusal = await whyNotDecide(db, actor, approval)
  if (refusal) throw forbidden(refusal)
  requireUndecided(await withKeyName(db, actor, approval, ['decided_by']), invocation, now)
  checkDecision(body, approval)
  const { decision, ...how } = body
  const status = decision === 'approve' ? 'approved' : 'rejected'
  const decided = await settleApproval(db, approval, { status, at: now, by: actor.id, ...how })
  if ((await listPending(db, [invocation.id])).length === 0) {
    await queueWaiting(db, invocation.id)
    await announceQueued(db, agent)
  }
  return decided
}

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
