import type { Needs } from '../../operation/context.ts'
import { operation } from '../../operation.ts'
import { InvitationParams, InvitationReply, presentInvitation } from './invitation.ts'
import { getInReach } from './invitation-in-reach.ts'

export const getInvitation = operation({
  id: 'getInvitation',
  method: 'GET',
  path: '/v1/invitations/{invitation_id}',
  summary: 'Get an invitation',
  permission: 'manage',
  params: InvitationParams,
  data: InvitationReply,

  async run({ params }, { db, actor, now }: Needs<'db' | 'actor' | 'now'>) {
    return presentInvitation(await getInReach(db, actor, params.invitation_id), now())
  },
})
