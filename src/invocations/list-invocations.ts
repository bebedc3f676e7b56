import { AgentParams } from '../agents/agent.ts'
import * as agents from '../agents/store.ts'
import { withKeyNames } from '../keys/key-names.ts'
import { requireUser } from '../operation/scope.ts'
import { operation } from '../operation.ts'
import { listQuery } from '../shapes.ts'
import { withAsking } from './approvals/asks-people.ts'
import { withFeedback } from './feedback/with-feedback.ts'
import { findInvocations, INVOCATION_FILTERS } from './find-invocations.ts'
import { starterFor } from './invocation-in-scope.ts'
import { presentInvocation, Receipt } from './receipt.ts'
import { listWithStepsSoFar } from './steps/kept-steps.ts'

export const listInvocations = operation({
  id: 'listInvocations',
  method: 'GET',
  path: '/v1/agents/{agent_id}/invocations',
  summary: 'List invocations',
  description: 'With only the permission `invoke`, the list contains the invocations that the key started itself.',
  access: { permission: 'read', ownPermission: 'invoke', userTokens: true },
  input: {
    params: AgentParams,
    query: listQuery(['created_at', 'finished_at', 'duration_ms', 'tokens_used', 'status', 'id'], INVOCATION_FILTERS),
  },
  answer: { list: Receipt },

  async run({ params, query }, { db, actor, reserve }) {
    const agent = await agents.get(db, params.agent_id)
    const { status, activity, door, session_id, user_id, schedule_id, ...page } = query
    const created_by = starterFor(actor, 'read')
    const whose = { created_by, user_id: requireUser(actor, user_id) }
    const filter = { status, activity, door, schedule_id, session_id, ...whose }
    const { items, total } = await findInvocations({ db, reserve }, [agent.seq], page, filter)
    const receipts = (await listWithStepsSoFar(db, items)).map((invocation) => presentInvocation(invocation, agent.id))
    const told = await withFeedback(db, actor, await withAsking(db, receipts))
    return { items: await withKeyNames(db, actor, told, ['created_by']), total }
  },
})
