import { z } from 'zod'
import * as agents from '../../agents/store.ts'
import { withKeyNames } from '../../keys/key-names.ts'
import { requireUser } from '../../operation/scope.ts'
import { operation } from '../../operation.ts'
import { Label, listQuery, TimeInput } from '../../shapes.ts'
import { starterFor } from '../invocation-in-scope.ts'
import { ApprovalReply, ApprovalStatus } from './approval.ts'
import { findApprovals } from './find-approvals.ts'
import { ApprovalKind } from './pending.ts'
import { withSignInLinks } from './sign-in-links.ts'
import { withWhyNot } from './who-decides.ts'

export const listApprovals = operation({
  id: 'listApprovals',
  method: 'GET',
  path: '/v1/approvals',
  summary: 'List approvals',
  description:
    'Lists what people are asked to decide, and their decisions. With only the permission `invoke`, the list contains the approvals of runs that the key started itself.',
  access: {
    permission: 'read',
    ownPermission: 'invoke',
    userTokens: true,
    concerns: async ({ query }) => query.agent_id ?? null,
  },
  input: {
    query: listQuery(['created_at', 'expires_at', 'decided_at', 'status', 'id'], {
      agent_id: z.string().optional().describe('Agent ID or name'),
      status: ApprovalStatus.optional(),
      kind: ApprovalKind.optional(),
      request_id: z
        .string()
        .max(256)
        .optional()
        .describe('Only approvals of this run and of the runs it called as tools'),
      user_id: Label(256).optional(),
      session_id: Label(256).optional(),
      start_time: TimeInput.optional().describe('Created at this time or later'),
      end_time: TimeInput.optional().describe('Created before this time'),
    }),
  },
  answer: { list: ApprovalReply },

  async run({ query }, { db, actor, connections, shownAgents, storage }) {
    const { limit, offset, sort, agent_id: ref, user_id, ...filter } = query
    const shown = await agents.listShown(db, await shownAgents())
    const wanted = ref === undefined ? undefined : await agents.findIn(db, actor.scope.project_id, ref)
    const among = ref === undefined ? shown : shown.filter(({ id }) => id === wanted?.id)
    const whose = { user_id: requireUser(actor, user_id), started_by: starterFor(actor, 'read') }
    const { items, total } = await findApprovals(db, among, { limit, offset, sort }, { ...filter, ...whose })
    const linked = await withSignInLinks(items, { connections, storage }, actor)
    const said = await withWhyNot(db, actor, linked)
    return { items: await withKeyNames(db, actor, said, ['started_by', 'decided_by']), total }
  },
})
