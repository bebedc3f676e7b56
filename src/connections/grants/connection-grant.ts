import { z } from 'zod'
import { parseIfJson } from '../../lib/json.ts'
import type { Keyring } from '../../security/keyring.ts'
import type { TokenSet } from '../../security/oauth/oauth-client.ts'
import { Time } from '../../shapes.ts'
import type { RowWith, Tables } from '../../storage/tables.ts'
import { PROJECT } from '../connection.ts'

/** pending → active → expired | revoked. One that stays pending is deleted. */
export const GrantStatus = z.enum(['pending', 'active', 'expired', 'revoked'])

export const GrantReply = z
  .object({
    id: z.string(),
    connection: z.string().describe("The connection's name"),
    user_id: z.string().nullable().describe('null: the grant of the project'),
    status: GrantStatus.describe(
      '`pending`: the user has signed in, and your application has not confirmed it. `expired`: the provider no longer accepts it. `revoked`: it was ended here',
    ),
    link_id: z.string().nullable(),
    scopes: z.array(z.string()),
    confirmed_by: z.string().nullable(),
    ended_reason: z.string().nullable(),
    created_at: Time,
    updated_at: Time,
  })
  .meta({ id: 'ConnectionGrant' })

export type ConnectionGrant = RowWith<
  Tables['connection_grants'],
  { scopes: string[]; asked_scopes: string[]; wanted_scopes: string[] }
>

export type GrantTokens = Pick<TokenSet, 'access_token' | 'refresh_token'> & {
  /** Who gave them, and to which client: they are not shown to anybody else. */
  issuer: string
  client_id: string
}

/** How long an application has to confirm a sign-in. */
export const PENDING_MS = 24 * 3_600_000

export function presentGrant({ holder, ...grant }: ConnectionGrant, connection: string): z.input<typeof GrantReply> {
  return { ...grant, connection, user_id: holder === PROJECT ? null : holder }
}

/** What a sign-in asks for: with what servers have asked for since the one that is used now. */
export function scopesToAsk(own: readonly string[], used: ConnectionGrant | undefined): string[] {
  if (!used || used.wanted_scopes.length === 0) return [...own]
  return [...new Set([...own, ...used.scopes, ...used.wanted_scopes])]
}

/** The ID is part of the purpose, so that tokens copied to another row cannot be opened there. */
function purposeOf(id: string): string {
  return `connection.grant:${id}`
}

export function sealTokens(id: string, tokens: GrantTokens, keyring: Keyring): string {
  return keyring.encrypt(JSON.stringify(tokens), purposeOf(id))
}

/** Undefined if they can't be decrypted: the row is damaged, or was copied. */
export function openTokens(
  { id, tokens }: Pick<ConnectionGrant, 'id' | 'tokens'>,
  keyring: Keyring,
): GrantTokens | undefined {
  if (tokens === null) return undefined
  try {
    return parseIfJson(keyring.decrypt(tokens, purposeOf(id))) as GrantTokens | undefined
  } catch {
    return undefined
  }
}
