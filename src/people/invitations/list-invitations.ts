import type { Needs } from '../../operation/context.ts'
import { requireScope } from '../../operation/scope.ts'
import { operation } from '../../operation.ts'
import { listQuery } from '../../shapes.ts'
import { InvitationReply, presentInvitation } from './invitation.ts'
import * as invitations from './invitation-store.ts'

export const listInvitations = operation({
  id: 'listInvitations',
  method: 'GET',
  path: '/v1/invitations',
  summary: 'List invitations',
  description: 'Of this project; an actor of all projects also sees those for all. Tokens are never shown again.',
  permission: 'manage',
  query: listQuery(['created_at', 'expires_at', 'email', 'id'], {}),
  list: InvitationReply,

  async run({ query }, { db, actor, now }: Needs<'db' | 'actor' | 'now'>) {
    requireScope(actor, null)
    const where = { project_id: actor.scope.project_id, reach: actor.reach }
    const { items, total } = await invitations.list(db, query, where)
    return { items: items.map((invitation) => presentInvitation(invitation, now())), total }
  },
})
