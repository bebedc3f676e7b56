import { requireScope } from '../../operation/scope.ts'
import { operation } from '../../operation.ts'
import { listQuery } from '../../shapes.ts'
import { findMaker } from './find-maker.ts'
import { InvitationReply, presentInvitation } from './invitation.ts'
import * as invitations from './invitation-store.ts'

export const listInvitations = operation({
  id: 'listInvitations',
  method: 'GET',
  path: '/v1/invitations',
  summary: 'List invitations',
  description:
    "Lists this project's invitations. With access to all projects, invitations to all projects are included. Tokens are not returned.",
  access: { permission: 'manage' },
  input: { query: listQuery(['created_at', 'expires_at', 'email', 'id'], {}) },
  answer: { list: InvitationReply },

  async run({ query }, { db, actor, config, now }) {
    requireScope(actor, null)
    const where = { project_id: actor.scope.project_id, reach: actor.reach }
    const { items, total } = await invitations.list(db, query, where)
    const makers = await Promise.all(items.map((invitation) => findMaker(db, invitation, config, now())))
    return { items: items.map((invitation, i) => presentInvitation(invitation, makers[i], now())), total }
  },
})
