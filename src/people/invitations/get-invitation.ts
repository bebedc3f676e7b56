import { operation } from '../../operation.ts'
import { findMaker } from './find-maker.ts'
import { InvitationParams, InvitationReply, presentInvitation } from './invitation.ts'
import { getInReach } from './invitation-in-reach.ts'

export const getInvitation = operation({
  id: 'getInvitation',
  method: 'GET',
  path: '/v1/invitations/{invitation_id}',
  summary: 'Get an invitation',
  description: 'The token is not returned.',
  access: { permission: 'manage' },
  input: { params: InvitationParams },
  answer: { data: InvitationReply },

  async run({ params }, { db, actor, config, now }) {
    const invitation = await getInReach(db, actor, params.invitation_id)
    return presentInvitation(invitation, await findMaker(db, invitation, config, now()), now())
  },
})
