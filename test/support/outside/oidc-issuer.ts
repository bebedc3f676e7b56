import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { Provider } from 'oidc-provider'
import { type LocalServer, startLocalServer } from './local-server.ts'

export type Account = {
  name?: string
  email?: string
  email_verified?: boolean
  groups?: string[]
  amr?: string[]
}

export const CLIENT = { id: 'moorage', secret: 'a-secret-of-the-client-0123456789' }

/**
 * A real OpenID provider. Its sign-in page immediately signs in the person that the test has set in `next`. If that is
 * undefined, it declines.
 */
export type OidcIssuer = LocalServer & {
  /** The accounts, by subject. A test changes them like an administrator of the provider. */
  accounts: Map<string, Account>
  next: string | undefined
  /** Allows sending browsers back to this service. Call it once the service has a URL. */
  serve(service_url: string, more?: { backchannel?: boolean }): void
  /** The entry of `console.oidc`. */
  entry(more?: object): Record<string, unknown>
  /** Replies 503 to everything, as if it were down. */
  isDown: boolean
  /** Changes what the token endpoint replies, as if the provider lied. */
  twist: ((body: Record<string, unknown>) => Promise<object> | object) | undefined
  /** The requests, such as `POST /token`. */
  asked: string[]
}

export async function startOidcIssuer(options: { name?: string; refresh?: boolean } = {}): Promise<OidcIssuer> {
  const { name = 'corp', refresh = true } = options
  let listener: RequestListener = (_request, response) => response.writeHead(503).end()
  const server = await startLocalServer((request, response) => {
    issuer.asked.push(`${request.method} ${new URL(request.url ?? '', server.url).pathname}`)
    if (issuer.isDown) return void response.writeHead(503).end('down')
    if (issuer.twist && request.url === '/token') twistReply(response, issuer.twist)
    // A command line needn't wait as long as people do.
    if (request.url === '/device/auth') twistReply(response, (body) => ({ ...body, interval: 1 }))
    listener(request, response)
  })
  const issuer: OidcIssuer = {
    ...server,
    accounts: new Map(),
    next: undefined,
    isDown: false,
    twist: undefined,
    asked: [],
    entry: (more = {}) => ({ name, issuer: server.url, clientId: CLIENT.id, clientSecret: CLIENT.secret, ...more }),
    serve(service_url, { backchannel = false } = {}) {
      const provider = new Provider(server.url, configurationOf(service_url, { name, refresh, backchannel }, issuer))
      const answer = provider.callback()
      listener = (request, response) => {
        const signsIn = request.url?.startsWith('/interaction/')
        if (signsIn) interact(provider, issuer, request, response).catch((error) => response.destroy(error))
        else answer(request, response)
      }
    },
  }
  return issuer
}

function configurationOf(
  service_url: string,
  { name, refresh, backchannel }: { name: string; refresh: boolean; backchannel: boolean },
  { accounts }: OidcIssuer,
): object {
  const base = `${service_url}/console/sign-in/${name}`
  return {
    clients: [
      {
        client_id: CLIENT.id,
        client_secret: CLIENT.secret,
        redirect_uris: [`${base}/callback`],
        post_logout_redirect_uris: [`${service_url}/`],
        grant_types: [
          'authorization_code',
          ...(refresh ? ['refresh_token'] : []),
          'urn:ietf:params:oauth:grant-type:device_code',
        ],
        ...(backchannel && { backchannel_logout_uri: `${base}/logout`, backchannel_logout_session_required: true }),
      },
    ],
    claims: { openid: ['sub', 'sid', 'amr'], profile: ['name', 'groups'], email: ['email', 'email_verified'] },
    conformIdTokenClaims: false,
    issueRefreshToken: () => refresh,
    rotateRefreshToken: true,
    features: {
      devInteractions: { enabled: false },
      backchannelLogout: { enabled: true },
      // Pages that load nothing from other servers.
      rpInitiatedLogout: {
        enabled: true,
        logoutSource: (ctx: { body: string }, form: string) => {
          ctx.body = `<!doctype html>${form}<button form="op.logoutForm" name="logout" value="yes">Yes</button>`
        },
        postLogoutSuccessSource: (ctx: { body: string }) => {
          ctx.body = '<!doctype html>You are signed out'
        },
      },
      revocation: { enabled: true },
      deviceFlow: { enabled: true },
    },
    interactions: { url: (_ctx: unknown, { uid }: { uid: string }) => `/interaction/${uid}` },
    cookies: { keys: ['a key of the provider'] },
    pkce: { required: () => true },
    // Otherwise, it refuses to notify a service on this machine that a person has signed out.
    fetch: (url: string, { method, headers, body }: RequestInit) =>
      fetch(url, { method, headers, body } as RequestInit),
    findAccount: (_ctx: unknown, accountId: string) => {
      const account = accounts.get(accountId)
      return account && { accountId, claims: () => ({ sub: accountId, ...account }) }
    },
  }
}

/** Signs in and grants what is requested, without asking. */
async function interact(
  provider: Provider,
  { next, accounts }: OidcIssuer,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { params, prompt } = await provider.interactionDetails(request, response)
  if (next === undefined) {
    return provider.interactionFinished(request, response, { error: 'access_denied', error_description: 'declined' })
  }
  if (prompt.name === 'login') {
    const amr = accounts.get(next)?.amr
    return provider.interactionFinished(request, response, { login: { accountId: next, ...(amr && { amr }) } })
  }
  const grant = new provider.Grant({ accountId: next, clientId: String(params['client_id']) })
  grant.addOIDCScope('openid profile email offline_access')
  const consent = { grantId: await grant.save() }
  await provider.interactionFinished(request, response, { consent }, { mergeWithLastSubmission: true })
}

/** Changes the provider's reply on its way. */
function twistReply(response: ServerResponse, twist: NonNullable<OidcIssuer['twist']>): void {
  const end = response.end.bind(response)
  response.end = ((chunk: unknown) => {
    const body = JSON.parse(String(chunk)) as Record<string, unknown>
    Promise.resolve(twist(body)).then((changed) => {
      const text = JSON.stringify(changed)
      response.setHeader('content-length', Buffer.byteLength(text))
      end(text)
    })
    return response
  }) as typeof response.end
}
