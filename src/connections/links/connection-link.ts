import { z } from 'zod'
import type { Keyring } from '../../security/keyring.ts'
import { Label, Time } from '../../shapes.ts'
import type { Tables } from '../../storage/tables.ts'

export const LINK_MS = 600_000

export const SignInLinkParams = z.strictObject({ name: z.string(), link_id: z.string() })

export const UserId = Label(256)

export const CreateSignInLinkBody = z
  .strictObject({
    user_id: UserId.optional().describe('Who signs in. Required for `as: user`, not allowed for `as: service`'),
    return_to: Label(2_048)
      .optional()
      .describe(
        "Where the browser goes afterwards, with `connection`, `link_id` and `status` (`ok` or `denied`) in the query. Its origin must be one of the connection's `return_origins`. Default: a page of this service",
      ),
  })
  .meta({ id: 'CreateConnectionLink' })

export const SignInLinkReply = z
  .object({
    link_id: z.string(),
    url: z.string().describe('Open it in the browser of this user. It can be used for one sign-in'),
    expires_at: Time,
  })
  .meta({ id: 'ConnectionLink' })

export type ConnectionLink = Tables['connection_links']

/** The code shows that the URL comes from this service: an ID alone opens nothing. */
export function linkUrl(publicUrl: string, id: string, keyring: Keyring): string {
  return `${publicUrl}/connect/${id}/${linkCode(id, keyring)}`
}

export function linkCode(id: string, keyring: Keyring): string {
  return keyring.digest(id, 'connection.link')
}

/** Where the browser goes when the user has signed in, or has declined. */
export function returnUrl(return_to: string, told: { connection: string; link_id: string; status: 'ok' | 'denied' }) {
  const url = new URL(return_to)
  for (const [name, value] of Object.entries(told)) url.searchParams.set(name, value)
  return url.href
}
