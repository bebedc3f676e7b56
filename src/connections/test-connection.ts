import { z } from 'zod'
import type { Needs } from '../operation/context.ts'
import { requireWholeProject } from '../operation/scope.ts'
import { operation } from '../operation.ts'
import type { KnownProvider } from '../security/oauth/oauth-client.ts'
import { OAuthFailure } from '../security/oauth/provider-errors.ts'
import type { Connection } from './connection.ts'
import { ConnectionParams } from './connection.ts'
import * as connections from './store.ts'

const MAX_ERROR = 1_000

const ConnectionTest = z
  .object({
    ok: z.boolean(),
    error: z.string().nullable().describe('What the operator should check'),
    warnings: z.array(z.string()).describe('What the test could not check, or what is unusual'),
    issuer: z.string().nullable().describe('The authorization server. null: it was not found, or it has no known name'),
    authorize_url: z.string().nullable().describe('Where users sign in'),
    client: z
      .enum(['given', 'metadata_document', 'registered'])
      .nullable()
      .describe(
        '`given`: the `client_id` that you set. `metadata_document`: the provider reads the document at the URL that is the client ID. `registered`: the service has registered itself',
      ),
    client_id: z.string().nullable(),
    scopes: z.array(z.string()).describe('The scopes that users are asked for'),
    can_revoke: z.boolean().describe('Whether sign-ins also end at the provider (RFC 7009)'),
    duration_ms: z.int(),
  })
  .meta({ id: 'ConnectionTest' })

type Tested = Omit<z.output<typeof ConnectionTest>, 'duration_ms'>

const NOTHING: Tested = {
  ok: false,
  error: null,
  warnings: [],
  issuer: null,
  authorize_url: null,
  client: null,
  client_id: null,
  scopes: [],
  can_revoke: false,
}

export const testConnection = operation({
  id: 'testConnection',
  method: 'POST',
  path: '/v1/connections/{name}/test',
  summary: 'Test a connection',
  description:
    "Does what a sign-in does before it sends a browser to the provider, and reports the result: finds the authorization server, and registers the service there if necessary. If you have set a `client_id`, it also checks whether the provider accepts the client, by refreshing a token that doesn't exist. No user is signed in.",
  access: { permission: 'manage' },
  audit: { target: 'name' },
  idempotent: true,
  // No transaction, because it waits for the provider.
  transaction: false,
  input: { params: ConnectionParams },
  answer: { data: ConnectionTest },

  async run({ params: { name } }, context: TestNeeds & Needs<'actor' | 'db' | 'now'>) {
    const { actor, db, now } = context
    requireWholeProject(actor, 'connections')
    const connection = await connections.get(db, { project_id: actor.scope.project_id, name })
    const started = now()
    const tested = await testOf(connection, context)
    return { ...tested, duration_ms: now() - started }
  },
})

type TestNeeds = Needs<'config' | 'connectionProviders'>

async function testOf(connection: Connection, { config, connectionProviders }: TestNeeds): Promise<Tested> {
  if (config.server.publicUrl === undefined)
    return { ...NOTHING, error: 'Users sign in through the public URL of this service. Set server.publicUrl.' }
  let provider: KnownProvider | undefined
  try {
    provider = await connectionProviders.open(connection, { isAgain: true })
    const isAccepted = provider.origin === 'given' ? await provider.client.isAccepted() : true
    const error = isAccepted === false ? 'The provider refused the client. Check the client ID and its secret.' : null
    const warnings = warningsOf(provider, { isUnchecked: isAccepted === undefined })
    return { ...found(provider), ok: error === null, error, warnings }
  } catch (error) {
    if (!(error instanceof OAuthFailure)) throw error
    return { ...(provider ? found(provider) : NOTHING), error: sentence(error.message) }
  }
}

function found({ server, client_id, origin, issuer, scopes, canRevoke }: KnownProvider): Tested {
  return {
    ...NOTHING,
    issuer: server.isNamed ? issuer : null,
    authorize_url: server.metadata.authorization_endpoint ?? null,
    client: origin,
    client_id,
    scopes: [...scopes],
    can_revoke: canRevoke,
  }
}

function warningsOf({ server }: KnownProvider, { isUnchecked }: { isUnchecked: boolean }): string[] {
  const { answered } = server
  const warnings: string[] = []
  if (answered !== undefined && answered !== 401)
    warnings.push(`The server answered HTTP ${answered} to a request without a token. With OAuth, it should be 401.`)
  if (isUnchecked) warnings.push("The provider's answer doesn't show whether it accepts the client.")
  return warnings
}

function sentence(message: string): string {
  const cut = message.slice(0, MAX_ERROR)
  return `${cut.charAt(0).toUpperCase()}${cut.slice(1)}${/[.!?]$/.test(cut) ? '' : '.'}`
}
