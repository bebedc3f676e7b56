import { z } from 'zod'
import { conflict, invalid } from '../errors.ts'
import type { StoredConnection } from '../operation/parts.ts'
import type { OAuthSource } from '../security/oauth/oauth-server.ts'
import { checkUrl, type UrlPolicy } from '../security/outgoing/guarded-url.ts'
import { isOrigin } from '../security/security-settings.ts'
import { ToolSecret } from '../security/tool-secret.ts'
import { Label, Time } from '../shapes.ts'

const MAX_SECRET = 8_192
const MAX_HOSTS = 100
export const MAX_SCOPES = 100
const MAX_ORIGINS = 20

export const ConnectionParams = z.strictObject({ name: z.string() })

const Url = Label(2_048)

export const OAuthScope = z
  .string()
  .max(256)
  .regex(/^[\x21\x23-\x5b\x5d-\x7e]+$/, 'must be a scope: visible ASCII characters without spaces, " and \\')

const Origin = Label(300).refine(isOrigin, 'must be an origin such as https://app.example.com, without a path')

const FIELDS = {
  kind: z
    .enum(['mcp', 'oauth2'])
    .describe('`mcp`: an MCP server that asks for OAuth. `oauth2`: any OAuth 2.0 provider'),
  as: z
    .enum(['user', 'service'])
    .describe(
      "`user`: each user signs in, and a run uses its own user's token. `service`: one sign-in for the project",
    ),
  url: Url.nullable().describe('For `mcp`: the URL of the MCP server'),
  issuer: Url.nullable().describe("For `oauth2`: the provider's issuer URL. The service reads its metadata there"),
  authorize_url: Url.nullable().describe('For `oauth2` without `issuer`: where users sign in'),
  token_url: Url.nullable().describe('For `oauth2` without `issuer`: where the service gets tokens'),
  revoke_url: Url.nullable().describe('For `oauth2` without `issuer`: where the service revokes tokens, if possible'),
  client_id: Label(2_048)
    .nullable()
    .describe("The client ID that the provider gave you. `mcp` doesn't need one if the server registers clients"),
  scopes: z.array(OAuthScope).max(MAX_SCOPES).describe('The scopes to ask for. Empty: those that the MCP server names'),
  hosts: z.array(ToolSecret.shape.hosts.element).max(MAX_HOSTS),
  return_origins: z
    .array(Origin)
    .max(MAX_ORIGINS)
    .describe('Origins of your application. A link can send the browser back to them'),
}

export const SetConnectionBody = z
  .strictObject({
    kind: FIELDS.kind,
    as: FIELDS.as.default('user'),
    url: FIELDS.url.default(null),
    issuer: FIELDS.issuer.default(null),
    authorize_url: FIELDS.authorize_url.default(null),
    token_url: FIELDS.token_url.default(null),
    revoke_url: FIELDS.revoke_url.default(null),
    client_id: FIELDS.client_id.default(null),
    client_secret: Label(MAX_SECRET)
      .nullable()
      .optional()
      .describe(
        'The client secret, never returned. null: the client has none. If absent, the stored secret is kept, unless the provider or the client changes',
      ),
    scopes: FIELDS.scopes.default([]),
    hosts: FIELDS.hosts
      .optional()
      .describe(
        "Hosts that tokens can be sent to: `api.example.com` on any port, `api.example.com:8443` on that one. Required for `oauth2`. Default for `mcp`: the MCP server's host",
      ),
    return_origins: FIELDS.return_origins.default([]),
  })
  .meta({ id: 'SetConnection' })

export const ConnectionReply = z
  .object({
    id: z.string(),
    name: z.string(),
    ...FIELDS,
    has_client_secret: z.boolean(),
    hosts: FIELDS.hosts.describe('Hosts that tokens can be sent to'),
    redirect_uri: z
      .string()
      .nullable()
      .describe('The redirect URI to enter at the provider. null: `server.publicUrl` is not set'),
    created_at: Time,
    updated_at: Time,
  })
  .meta({ id: 'Connection' })

/** As it is stored: its client secret is encrypted. */
export type Connection = StoredConnection

/** The holder of a grant of the project itself. */
export const PROJECT = ''

export function presentConnection(
  connection: Connection,
  publicUrl: string | undefined,
): z.input<typeof ConnectionReply> {
  const { acts_as, client_secret, ...shown } = connection
  return {
    ...shown,
    as: acts_as,
    has_client_secret: client_secret !== null,
    redirect_uri: publicUrl === undefined ? null : redirectUri(publicUrl, connection),
  }
}

/** Each connection has its own, so that one provider's answer can't be taken for another's. */
export function redirectUri(publicUrl: string, { id }: Pick<Connection, 'id'>): string {
  return `${publicUrl}/connect/callback/${id}`
}

/** The ID is part of the purpose, so that a value copied to another row cannot be opened there. */
export function secretPurpose({ id }: { id: string }): string {
  return `connection:${id}`
}

export function registrationPurpose({ id }: { id: string }): string {
  return `connection.registration:${id}`
}

export function sourceOf({ kind, url, issuer, authorize_url, token_url, revoke_url }: Connection): OAuthSource {
  if (kind === 'mcp') return { kind, url: url ?? '' }
  if (issuer !== null) return { kind: 'issuer', issuer }
  return { kind: 'urls', authorize_url: authorize_url ?? '', token_url: token_url ?? '', revoke_url }
}

export type WantedConnection = z.output<typeof SetConnectionBody>

/** Refuses fields that don't belong together, and URLs that the service must not call. */
export function checkConnection(body: WantedConnection, policy: UrlPolicy): void {
  const { kind, url, issuer, authorize_url, token_url, revoke_url, hosts, client_id } = body
  const problems: { field: string; error: string }[] = []
  const require = (field: string, value: unknown, why: string) => {
    if (value === null || value === undefined) problems.push({ field, error: `is required ${why}` })
  }
  const refuse = (field: string, value: unknown, why: string) => {
    if (value !== null && value !== undefined) problems.push({ field, error: `is not allowed ${why}` })
  }
  if (kind === 'mcp') {
    require('url', url, 'for `mcp`')
    for (const [field, value] of Object.entries({ issuer, authorize_url, token_url, revoke_url }))
      refuse(field, value, 'for `mcp`: the server names its provider itself')
  } else {
    refuse('url', url, 'for `oauth2`')
    require('client_id', client_id, 'for `oauth2`')
    if (hosts === undefined || hosts.length === 0) problems.push({ field: 'hosts', error: 'is required for `oauth2`' })
    if (issuer === null) {
      require('authorize_url', authorize_url, 'without `issuer`')
      require('token_url', token_url, 'without `issuer`')
    } else {
      for (const [field, value] of Object.entries({ authorize_url, token_url, revoke_url }))
        refuse(field, value, 'with `issuer`')
    }
  }
  for (const [field, value] of Object.entries({ url, issuer, authorize_url, token_url, revoke_url })) {
    const problem = value === null ? undefined : checkUrl(value, policy)
    if (problem) problems.push({ field, error: problem.message })
  }
  if (problems.length > 0) throw invalid(...problems)
}

/** Whether tokens of the earlier connection can't be used with the new one. */
export function endsGrants(before: Connection, after: Omit<Connection, 'created_at'>): boolean {
  const of = (one: Omit<Connection, 'created_at'>) =>
    JSON.stringify([
      one.kind,
      one.acts_as,
      one.url,
      one.issuer,
      one.authorize_url,
      one.token_url,
      one.client_id,
      one.scopes.toSorted(),
    ])
  return of(before) !== of(after)
}

/** Where the client secret goes: with another client or another provider, the stored one is not kept. */
export function keepsSecret(before: Connection, after: Omit<Connection, 'created_at' | 'client_secret'>): boolean {
  const of = ({ kind, url, issuer, token_url, client_id }: typeof after) =>
    JSON.stringify([kind, url, issuer, token_url, client_id])
  return of(before) === of(after)
}

export function requirePublicUrl(publicUrl: string | undefined): string {
  if (publicUrl !== undefined) return publicUrl
  throw conflict('Users sign in through the public URL of this service. Set server.publicUrl in moorage.yaml.')
}
