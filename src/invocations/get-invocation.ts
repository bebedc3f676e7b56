import type { z } from 'zod'
import * as agents from '../agents/store.ts'
import { withKeyName, withKeyNames } from '../keys/key-names.ts'
import type { Actor } from '../operation/actor.ts'
import { operation } from '../operation.ts'
import type { Database } from '../storage/database.ts'
import { withAsking } from './approvals/asks-people.ts'
import { withFeedback } from './feedback/with-feedback.ts'
import { InvocationParams } from './invocation.ts'
import { getInScope } from './invocation-in-scope.ts'
import { whyQueued } from './queue/why-queued.ts'
import { presentInvocation, Receipt } from './receipt.ts'
import { withStepsSoFar } from './steps/kept-steps.ts'

export const getInvocation = operation({
  id: 'getInvocation',
  method: 'GET',
  path: '/v1/agents/{agent_id}/invocations/{request_id}',
  summary: 'Get an invocation',
  description:
    'Returns the receipt: the message, the version that answered, the tools and tokens it used, and how it ended.',
  access: { permission: 'read', ownPermission: 'invoke', userTokens: true },
  input: { params: InvocationParams },
  answer: { data: Receipt },

  async run({ params }, { db, actor, now }) {
    const agent = await agents.get(db, params.agent_id)
    const found = await getInScope(db, actor, 'read', { agent_seq: agent.seq, id: params.request_id })
    const told = presentInvocation(await withStepsSoFar(db, found), agent.id)
    const [receipt = told] = await withFeedback(db, actor, await withAsking(db, [told]))
    const queue = found.status === 'queued' ? await whyQueued(db, found, now()) : undefined
    const named = await withKeyName(db, actor, { ...receipt, ...(queue && { queue }) }, ['created_by'])
    return withDeciders(db, actor, named)
  },
})

/** Adds the names of the people who decided on the run's approvals. */
async function withDeciders<Told extends Pick<z.input<typeof Receipt>, 'steps'>>(
  db: Database,
  actor: Actor,
  receipt: Told,
): Promise<Told> {
  const decisions = receipt.steps.filter((step) => step.kind === 'approval')
  const named = (await withKeyNames(db, actor, decisions, ['by'])).values()
  return { ...receipt, steps: receipt.steps.map((step) => (step.kind === 'approval' && named.next().value) || step) }
}
