import * as agents from '../agents/store.ts'
import { withKeyName } from '../keys/key-names.ts'
import type { Needs } from '../operation/context.ts'
import { operation } from '../operation.ts'
import { type CancelParts, cancelRun } from './cancel-run.ts'
import { InvocationParams } from './invocation.ts'
import { getInScope } from './invocation-in-scope.ts'
import { presentInvocation, Receipt } from './receipt.ts'

type CancelNeeds = CancelParts & Needs<'db' | 'actor'>

export const cancelInvocation = operation({
  id: 'cancelInvocation',
  method: 'POST',
  path: '/v1/agents/{agent_id}/invocations/{request_id}/cancel',
  summary: 'Cancel an invocation',
  description:
    'Returns the receipt when the run has actually stopped. Runs that it called as tools are cancelled too. If the invocation was already cancelled, returns 200 with the receipt; if it ended otherwise, 409.',
  access: { permission: 'write', ownPermission: 'invoke', userTokens: true },
  audit: { target: 'request_id' },
  idempotent: true,
  transaction: false,
  input: { params: InvocationParams },
  answer: { data: Receipt, errors: ['conflict'] },

  async run({ params }, context: CancelNeeds) {
    const { db, actor } = context
    const agent = await agents.get(db, params.agent_id)
    await getInScope(db, actor, 'write', { agent_seq: agent.seq, id: params.request_id })
    const cancelled = await cancelRun(agent, params.request_id, context)
    return withKeyName(db, actor, presentInvocation(cancelled, agent.id), ['created_by'])
  },
})
