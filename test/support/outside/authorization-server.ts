import { createHash, randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type LocalServer, readBody, startLocalServer } from './local-server.ts'

type Code = {
  user: string
  challenge: string
  redirect_uri: string
  client_id: string
  resource: string | null
  scope: string
}

/**
 * A small real authorization server with a resource of its own. Whoever comes to its sign-in page is signed in at once, as
 * the user whom the test has named in `next`; undefined declines. Its refresh tokens can be used once: if one is used
 * again, the whole grant ends.
 */
export type AuthorizationServer = LocalServer & {
  next: string | undefined
  /** How long access tokens are valid, in seconds. */
  expires_in: number | undefined
  /** Answers with tokens don't say for which scopes they are. */
  isSilent: boolean
  /** Every request is answered with 503. */
  isDown: boolean
  /** Every connection is cut instead of an answer. */
  isCut: boolean
  /** Changes what the metadata say. */
  twist: (metadata: Record<string, unknown>) => object
  /** Changes what is answered to a form that asks for tokens or takes them back. */
  spoil: (answer: object, form: string) => object
  /** What was asked of it, as `POST /token refresh_token`. */
  asked: string[]
  /** Every token that it has given. */
  given: Set<string>
  /** Who called the resource, by the token that they sent. */
  called: string[]
  revoked: string[]
  /** Waits before a token is answered. */
  hold: () => Promise<void>
  /** Waits when the tokens of an answer exist. */
  holdAnswer: () => Promise<void>
  /** Whose token it is, while it is valid. */
  userOf(authorization: string | undefined): string | undefined
  scopesOf(authorization: string | undefined): string[]
  /** What an MCP server says of itself, or the status that it fails with, by the path at which this server answers. */
  resources: Map<string, object | number>
  clients: Map<string, { redirect_uris: string[]; secret?: string }>
  /** Access tokens end now. */
  expireAll(): void
  /** The grants of this user end. */
  endGrants(user: string): void
}

export const CONFIDENTIAL = { id: 'moorage', secret: 'a-client-secret-0123456789' }

export async function startAuthorizationServer(): Promise<AuthorizationServer> {
  const codes = new Map<string, Code>()
  const access = new Map<string, { user: string; grant: string; scope: string; until: number }>()
  const refresh = new Map<string, { user: string; grant: string; scope: string; isUsed: boolean }>()
  const ended = new Set<string>()
  const local = await startLocalServer((request, response) => {
    void answer(request, response).catch((error) => response.destroy(error as Error))
  })
  const server: AuthorizationServer = {
    ...local,
    next: 'ann',
    expires_in: 3_600,
    isSilent: false,
    isDown: false,
    isCut: false,
    twist: (metadata) => metadata,
    spoil: (right) => right,
    asked: [],
    given: new Set(),
    called: [],
    revoked: [],
    hold: async () => {},
    holdAnswer: async () => {},
    userOf(authorization) {
      const found = access.get((authorization ?? '').replace('Bearer ', ''))
      return found && found.until > Date.now() && !ended.has(found.grant) ? found.user : undefined
    },
    scopesOf: (authorization) => (access.get((authorization ?? '').replace('Bearer ', ''))?.scope ?? '').split(' '),
    resources: new Map(),
    clients: new Map([[CONFIDENTIAL.id, { redirect_uris: [], secret: CONFIDENTIAL.secret }]]),
    expireAll: () => {
      for (const one of access.values()) one.until = 0
    },
    endGrants: (user) => {
      for (const one of refresh.values()) if (one.user === user) ended.add(one.grant)
    },
  }
  const give = (user: string, grant: string, scope: string) => {
    const tokens = { access_token: `at-${randomUUID()}`, refresh_token: `rt-${randomUUID()}` }
    const until = Date.now() + (server.expires_in ?? 3_600) * 1000
    access.set(tokens.access_token, { user, grant, scope, until })
    refresh.set(tokens.refresh_token, { user, grant, scope, isUsed: false })
    for (const one of Object.values(tokens)) server.given.add(one)
    return {
      ...tokens,
      token_type: 'Bearer',
      ...(server.expires_in !== undefined && { expires_in: server.expires_in }),
    }
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '', local.url)
    const form = request.method === 'POST' ? await readBody(request) : ''
    const asked = new URLSearchParams(form)
    server.asked.push(
      `${request.method} ${url.pathname}${asked.has('grant_type') ? ` ${asked.get('grant_type')}` : ''}`,
    )
    const say = (status: number, body: object) =>
      void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    if (server.isCut) return void response.destroy()
    if (server.isDown) return say(503, {})
    if (url.pathname === '/.well-known/oauth-authorization-server') return say(200, server.twist(metadataOf(local.url)))
    if (url.pathname === '/authorize') return authorize(url, response)
    if (url.pathname === '/token') return token(request, asked, (status, body) => say(status, server.spoil(body, form)))
    if (url.pathname === '/revoke') {
      server.revoked.push(asked.get('token') ?? '')
      const known = refresh.get(asked.get('token') ?? '')
      if (known) ended.add(known.grant)
      return say(200, server.spoil({}, form))
    }
    if (url.pathname === '/register') {
      const id = `client-${randomUUID()}`
      server.clients.set(id, JSON.parse(form) as { redirect_uris: string[] })
      return say(201, { ...JSON.parse(form), client_id: id })
    }
    if (url.pathname === '/whoami') {
      const user = server.userOf(request.headers.authorization)
      if (user === undefined) return say(401, { error: 'invalid_token' })
      server.called.push(user)
      return void response.end(`you are ${user}, with ${request.headers.authorization}`)
    }
    const resource = server.resources.get(url.pathname)
    return typeof resource === 'object' ? say(200, resource) : say(resource ?? 404, {})
  }

  function authorize(url: URL, response: ServerResponse): void {
    const of = (name: string) => url.searchParams.get(name) ?? ''
    const back = new URL(of('redirect_uri'))
    back.searchParams.set('state', of('state'))
    back.searchParams.set('iss', local.url)
    if (server.next === undefined) back.searchParams.set('error', 'access_denied')
    else {
      const code = `code-${randomUUID()}`
      codes.set(code, {
        user: server.next,
        challenge: of('code_challenge'),
        redirect_uri: of('redirect_uri'),
        client_id: of('client_id'),
        resource: url.searchParams.get('resource'),
        scope: of('scope'),
      })
      back.searchParams.set('code', code)
    }
    response.writeHead(302, { location: back.href }).end()
  }

  async function token(
    request: IncomingMessage,
    asked: URLSearchParams,
    say: (status: number, body: object) => void,
  ): Promise<void> {
    await server.hold()
    const [id, secret] = clientOf(request, asked)
    const client = server.clients.get(id)
    // A client without an entry is known by the document at its URL.
    if (client?.secret !== undefined && client.secret !== secret) return say(401, { error: 'invalid_client' })
    if (asked.get('grant_type') === 'authorization_code') {
      const code = codes.get(asked.get('code') ?? '')
      codes.delete(asked.get('code') ?? '')
      const challenge = createHash('sha256')
        .update(asked.get('code_verifier') ?? '')
        .digest('base64url')
      const isRight =
        code?.challenge === challenge &&
        code.redirect_uri === asked.get('redirect_uri') &&
        code.client_id === id &&
        code.resource === asked.get('resource')
      if (!code || !isRight) return say(400, { error: 'invalid_grant' })
      const { user, scope } = code
      return say(200, { ...give(user, randomUUID(), scope), ...(scope && !server.isSilent && { scope }) })
    }
    const known = refresh.get(asked.get('refresh_token') ?? '')
    // Used twice: somebody else may have it.
    if (known?.isUsed) ended.add(known.grant)
    if (!known || known.isUsed || ended.has(known.grant)) return say(400, { error: 'invalid_grant' })
    known.isUsed = true
    const tokens = give(known.user, known.grant, known.scope)
    await server.holdAnswer()
    return say(200, tokens)
  }

  return server
}

function metadataOf(url: string) {
  return {
    issuer: url,
    authorization_endpoint: `${url}/authorize`,
    token_endpoint: `${url}/token`,
    revocation_endpoint: `${url}/revoke`,
    registration_endpoint: `${url}/register`,
    response_types_supported: ['code'],
    code_challenge_methods_supported: ['S256'],
    authorization_response_iss_parameter_supported: true,
    token_endpoint_auth_methods_supported: ['client_secret_basic', 'none'],
  }
}

function clientOf({ headers }: IncomingMessage, asked: URLSearchParams): [id: string, secret: string | undefined] {
  const basic = /^Basic (.+)$/.exec(headers.authorization ?? '')?.[1]
  if (!basic) return [asked.get('client_id') ?? '', asked.get('client_secret') ?? undefined]
  const [id = '', secret = ''] = Buffer.from(basic, 'base64').toString().split(':').map(decodeURIComponent)
  return [id, secret]
}
