import * as agents from '../agents/store.ts'
import { withKeyName } from '../keys/key-names.ts'
import type { Needs } from '../operation/context.ts'
import { operation } from '../operation.ts'
import { InvocationParams } from './invocation.ts'
import { getInScope } from './invocation-in-scope.ts'
import { presentInvocation, Receipt } from './receipt.ts'
import { withStepsSoFar } from './steps/kept-steps.ts'

export const getInvocation = operation({
  id: 'getInvocation',
  method: 'GET',
  path: '/v1/agents/{agent_id}/invocations/{request_id}',
  summary: 'Get an invocation',
  description:
    'The receipt: what was asked, which version answered, with which tools and how many tokens, and how it ended.',
  permission: 'read',
  ownPermission: 'invoke',
  userTokens: true,
  params: InvocationParams,
  data: Receipt,

  async run({ params }, { db, actor }: Needs<'db' | 'actor'>) {
    const agent = await agents.get(db, params.agent_id)
    const found = await getInScope(db, actor, 'read', { agent_seq: agent.seq, id: params.request_id })
    const receipt = presentInvocation(await withStepsSoFar(db, found), agent.id)
    return withKeyName(db, actor, receipt, ['created_by'])
  },
})
