import { z } from 'zod'
import { Label, Time } from '../../shapes.ts'
import type { Tables } from '../../storage/tables.ts'

export type Invitation = Tables['invitations']

export const InvitationParams = z.strictObject({ invitation_id: z.string() })

const MOST_HOURS = 30 * 24

export const CreateInvitationBody = z
  .strictObject({
    email: z
      .email()
      .max(320)
      .describe("The invited person's email address, which the identity provider must have verified"),
    role: Label(64).describe('`admin`, `developer`, `viewer`, `caller`, or a role from the configuration'),
    all_projects: z
      .boolean()
      .default(false)
      .describe('For all projects instead of this one. Requires access to all projects'),
    expires_in_hours: z.int().min(1).max(MOST_HOURS).default(72).describe('Hours until the invitation expires'),
  })
  .meta({ id: 'CreateInvitation' })

export const InvitationReply = z
  .object({
    id: z.string(),
    email: z.string(),
    role: z.string(),
    project_id: z.string().nullable().describe('null: all projects'),
    status: z
      .enum(['pending', 'accepted', 'expired', 'ended'])
      .describe("`ended`: its creator's key or role has ended, or no longer has enough permissions"),
    created_at: Time,
    created_by: z.string(),
    expires_at: Time,
    accepted_at: Time.nullable(),
    accepted_by: z.string().nullable().describe('The person who accepted it'),
  })
  .meta({ id: 'Invitation' })

/** `maker` is who made it, if they could still make it now. */
export function presentInvitation(
  invitation: Invitation,
  maker: unknown,
  now: number,
): z.input<typeof InvitationReply> {
  const { accepted_at, expires_at } = invitation
  if (accepted_at !== null) return { ...invitation, status: 'accepted' }
  if (expires_at <= now) return { ...invitation, status: 'expired' }
  return { ...invitation, status: maker === undefined ? 'ended' : 'pending' }
}
