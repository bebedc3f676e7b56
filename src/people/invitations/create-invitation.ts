import { randomBytes } from 'node:crypto'
import { z } from 'zod'
import { conflict } from '../../errors.ts'
import { requireScope, requireService } from '../../operation/scope.ts'
import { operation } from '../../operation.ts'
import { sha256 } from '../../security/digest.ts'
import { permissionsToGive } from '../roles.ts'
import { CreateInvitationBody, InvitationReply, presentInvitation } from './invitation.ts'
import * as invitations from './invitation-store.ts'

const HOUR_MS = 3_600_000

const NO_ISSUER = "No identity provider is configured, so the invited person couldn't sign in. Set console.oidc first."

export const createInvitation = operation({
  id: 'createInvitation',
  method: 'POST',
  path: '/v1/invitations',
  summary: 'Invite a person',
  description:
    "Creates a one-time link that grants a role in this project to the person with this verified email address. The link stops working when the key or role that created it does. Tokens, keys that expire and rotated secrets can't create invitations. Put the token after `#invitation=` in the console's URL, and send the link yourself: the service sends no email. Without an identity provider in `console.oidc`, the request fails with 409.",
  access: { permission: 'manage' },
  mfa: { policy: 'keys' },
  audit: { target: 'reply' },
  idempotent: true,
  input: { body: CreateInvitationBody },
  answer: {
    status: 201,
    data: z
      .object({ ...InvitationReply.shape, token: z.string().describe('Returned only in this reply') })
      .meta({ id: 'InvitationWithToken' }),
    secret: true,
    errors: ['conflict'],
  },

  async run({ body }, { db, actor, config, newId, now }) {
    requireScope(actor, null)
    if (config.console.oidc.length === 0) throw conflict(NO_ISSUER)
    if (body.all_projects) requireService(actor)
    permissionsToGive(actor, body.role, config)
    const time = now()
    const token = randomBytes(32).toString('base64url')
    const invitation = {
      id: newId('inv', time),
      hash: sha256(token),
      project_id: body.all_projects ? null : actor.scope.project_id,
      role: body.role,
      email: body.email.toLowerCase(),
      created_at: time,
      created_by: actor.id,
      expires_at: time + body.expires_in_hours * HOUR_MS,
      accepted_at: null,
      accepted_by: null,
    }
    await invitations.insert(db, invitation)
    return { ...presentInvitation(invitation, actor, time), token }
  },
})
