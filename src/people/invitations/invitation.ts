import { z } from 'zod'
import { Label, Time } from '../../shapes.ts'
import type { InvitationsTable } from '../../storage/tables/security-tables.ts'

export type Invitation = InvitationsTable

export const InvitationParams = z.strictObject({ invitation_id: z.string() })

const MOST_HOURS = 30 * 24

export const CreateInvitationBody = z
  .strictObject({
    email: z.email().max(320).describe('Who is meant. The identity provider must have verified this address'),
    role: Label(64).describe('A role of the configuration'),
    all_projects: z
      .boolean()
      .default(false)
      .describe('For all projects instead of this one. Only an actor of all projects can give it'),
    expires_in_hours: z.int().min(1).max(MOST_HOURS).default(72),
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
      .describe('`ended`: who made it could not make it any more. Their key or role has ended, or allows less'),
    created_at: Time,
    created_by: z.string(),
    expires_at: Time,
    accepted_at: Time.nullable(),
    accepted_by: z.string().nullable().describe('The person'),
  })
  .meta({ id: 'Invitation' })

/** `maker` is who made it, if they could make it now too. */
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
