import * as agents from '../../agents/store.ts'
import { notFound } from '../../errors.ts'
import { withKeyNames } from '../../keys/key-names.ts'
import { operation } from '../../operation.ts'
import { getInScope } from '../invocation-in-scope.ts'
import { ApprovalParams, ApprovalReply } from './approval.ts'
import { findApproval } from './approval-store.ts'
import { withSignInLinks } from './sign-in-links.ts'
import { withWhyNot } from './who-decides.ts'

export const getApproval = operation({
  id: 'getApproval',
  method: 'GET',
  path: '/v1/agents/{agent_id}/invocations/{request_id}/approvals/{call_id}',
  summary: 'Get an approval',
  description: 'If people were asked about a call twice, returns the later approval.',
  access: { permission: 'read', ownPermission: 'invoke', userTokens: true },
  input: { params: ApprovalParams },
  answer: { data: ApprovalReply },

  async run({ params: { agent_id, request_id, call_id } }, { db, actor, connections, storage }) {
    const agent = await agents.get(db, agent_id)
    await getInScope(db, actor, 'read', { agent_seq: agent.seq, id: request_id })
    const approval = await findApproval(db, request_id, call_id)
    if (!approval) throw notFound('Approval', call_id)
    const shown = await withSignInLinks([approval], { connections, storage }, actor)
    const named = await withKeyNames(db, actor, await withWhyNot(db, actor, shown), ['started_by', 'decided_by'])
    return { ...(named[0] as (typeof named)[number]), agent_id: agent.id }
  },
})
