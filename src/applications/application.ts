import { randomBytes } from 'node:crypto'
import { z } from 'zod'
import { sha256 } from '../security/digest.ts'
import { Permission } from '../security/permissions.ts'
import { KeyName, Time } from '../shapes.ts'
import type { Tables } from '../storage/tables.ts'

export const ApplicationParams = z.strictObject({ application_id: z.string() })

export const ApplicationReply = z
  .object({
    id: z.string(),
    name: z.string().describe('The name that the application gave itself'),
    client_id: z
      .string()
      .describe("The URL of the application's metadata document. Its host is the application's owner"),
    redirect_uri: z.string().describe('Where the application received its code'),
    resource: z.string().describe("The MCP server's URL that the application can use"),
    agent_id: z.string().nullable().describe('The only agent it can use; null for the whole project'),
    permissions: z.array(Permission),
    person_id: z.string().nullable().describe('The person who connected it; null if a key was used to sign in'),
    user_id: z.string().describe('The user of its runs: the ID of the person or the key that connected it'),
    created_by: z.string().describe('The role or key that connected it. The application ends with it'),
    created_by_name: KeyName,
    created_at: Time,
    last_used_at: Time.nullable().describe('Accurate to a few seconds'),
    expires_at: Time.describe('When its access ends, unless it refreshes its token earlier'),
  })
  .meta({ id: 'ConnectedApplication' })

/** An application as it is stored, without its key. */
export type Application = Tables['applications']

/** How long an application has to exchange its code. */
export const CODE_MS = 60_000
export const ACCESS_MS = 60 * 60_000
/** Each refresh gives a new token that is valid for this long. */
export const REFRESH_MS = 30 * 24 * 60 * 60_000

const PREFIXES = { code: 'mrgac_', access: 'mrgat_', refresh: 'mrgrt_' } as const
type SecretKind = keyof typeof PREFIXES
const FORM = /^mrg(?:ac|at|rt)_[\w-]{43}$/

/** 256 random bits. */
export function newSecretOf(kind: SecretKind): string {
  return PREFIXES[kind] + randomBytes(32).toString('base64url')
}

/**
 * What the store knows of a code or a token. It has another form than the hashes of keys' secrets, so that none of them
 * is ever accepted as a key, or in place of another kind. Undefined for a text that is no such secret.
 */
export function hashOf(kind: SecretKind, secret: string): string | undefined {
  return secret.startsWith(PREFIXES[kind]) && FORM.test(secret) ? `${kind}:${sha256(secret)}` : undefined
}
