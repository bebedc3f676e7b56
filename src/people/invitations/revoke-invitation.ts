import { z } from 'zod'
import { operation } from '../../operation.ts'
import { InvitationParams } from './invitation.ts'
import { getInReach } from './invitation-in-reach.ts'
import * as invitations from './invitation-store.ts'

export const revokeInvitation = operation({
  id: 'revokeInvitation',
  method: 'DELETE',
  path: '/v1/invitations/{invitation_id}',
  summary: 'Revoke an invitation',
  description: 'The link stops working. A role it has already granted is kept.',
  access: { permission: 'manage' },
  mfa: { policy: 'keys' },
  audit: { target: 'invitation_id' },
  input: { params: InvitationParams },
  answer: { data: z.object({ id: z.string(), deleted: z.literal(true) }) },

  async run({ params: { invitation_id: id } }, { db, actor }) {
    await getInReach(db, actor, id)
    await invitations.remove(db, id)
    return { id, deleted: true as const }
  },
})
