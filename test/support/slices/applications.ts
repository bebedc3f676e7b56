import assert from 'node:assert/strict'
import { createHash, randomBytes, randomInt } from 'node:crypto'
import { createServer as createTlsServer } from 'node:https'
import { type AddressInfo, createServer } from 'node:net'
import {
  Client,
  type OAuthClientMetadata,
  type OAuthClientProvider,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client'
import { hashOf } from '../../../src/applications/application.ts'
import { connectApplication as allowApplication } from '../../../src/applications/connect-application.ts'
import * as applications from '../../../src/applications/store.ts'
import { actorOf } from '../../../src/keys/key.ts'
import * as keys from '../../../src/keys/store.ts'
import { partsOf, storeOf } from '../inside.ts'
import { KEPT_OPEN, LOCAL_TOOLS } from '../outside/local-server.ts'
import { tlsText } from '../outside/tls.ts'
import { fetchSoon } from '../running/patience.ts'
import type { Outgoing, Service, Settings } from '../service/service.ts'

/** Below the ports that systems assign, so that no other test gets it before the service does. */
async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(12_000, 30_000)
    const probe = createServer()
    const isFree = await new Promise<boolean>((resolve) => {
      probe.once('error', () => resolve(false))
      probe.listen(port, '127.0.0.1', () => resolve(true))
    })
    if (!isFree) continue
    await new Promise((resolve) => probe.close(resolve))
    return port
  }
}

/** The settings of a service at which people can connect applications, and what it trusts. */
export async function signInSettings(): Promise<{ settings: Settings; outgoing: Outgoing; url: string }> {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const settings = {
    ...LOCAL_TOOLS,
    PORT: String(port),
    MOORAGE_SERVER__PUBLIC_URL: url,
    MOORAGE_MCP__SIGN_IN: 'true',
    // All of a test's browsers and clients have one address.
    MOORAGE_LIMITS__FAILED_AUTH_PER_MINUTE: '120',
  }
  return { settings, outgoing: { ca: [tlsText('ca.pem')] }, url }
}

export type ClientHost = {
  url: string
  /** What it answers, by path. */
  answers: Map<string, { status?: number; headers?: Record<string, string>; body: string }>
  asked: string[]
  /** Publishes a client's document. Returns the client's ID. */
  publish(document?: object, path?: string): string
  close(): Promise<void>
}

export const REDIRECT_URI = 'https://client.test/callback'

/** A server with the metadata documents of clients. */
export async function startClientHost(): Promise<ClientHost> {
  const answers: ClientHost['answers'] = new Map()
  const asked: string[] = []
  const options = { ...KEPT_OPEN, cert: tlsText('server.pem'), key: tlsText('server-key.pem') }
  const server = createTlsServer(options, (request, response) => {
    asked.push(request.url ?? '')
    const answer = answers.get(request.url ?? '')
    if (!answer) return void response.writeHead(404).end()
    const { status = 200, headers = { 'Content-Type': 'application/json' }, body } = answer
    response.writeHead(status, headers).end(body)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`
  let count = 0
  return {
    url,
    answers,
    asked,
    publish(document = {}, path = `/client-${++count}.json`) {
      const known = { client_id: url + path, client_name: 'Harbour Chat', redirect_uris: [REDIRECT_URI] }
      answers.set(path, { body: JSON.stringify({ ...known, ...document }) })
      return url + path
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

export type ShownPage = { status: number; url: string; text: string; headers: Headers; left: string | undefined }

/** A person's browser: it keeps cookies, follows redirects within the service, and knows which sites begin a request. */
export class ConsentBrowser {
  readonly #service: () => Service
  readonly cookies = new Map<string, string>()
  page: ShownPage = { status: 0, url: '', text: '', headers: new Headers(), left: undefined }

  constructor(service: () => Service) {
    this.#service = service
  }

  /** Opens a URL that another site, or this service, has linked. */
  async open(url: string, { site = 'cross-site', form }: { site?: string; form?: Record<string, string> } = {}) {
    let at = new URL(url, this.#service().url).href
    let body = form && new URLSearchParams(form)
    for (let hop = 0; hop < 10; hop++) {
      const { response, text } = await fetchSoon(at, {
        redirect: 'manual',
        headers: {
          cookie: this.#cookiesFor(site),
          'Sec-Fetch-Site': site,
          ...(body && { origin: site === 'same-origin' ? this.#service().url : 'https://evil.test' }),
        },
        ...(body && { method: 'POST', body }),
      })
      this.#keep(response.headers.getSetCookie())
      body = undefined
      const next = response.headers.get('location')
      const left = next !== null && !next.startsWith(`${this.#service().url}/`) ? next : undefined
      this.page = { status: response.status, url: at, text, headers: response.headers, left }
      if (next === null && text.includes('http-equiv="refresh"')) site = 'same-origin'
      else if (next === null || left !== undefined) return this.page
      else at = next
    }
    throw new Error(`${url} leads nowhere`)
  }

  /** Sends a form of the page that it shows. */
  submit(fields: Record<string, string>): Promise<ShownPage> {
    const { text, url } = this.page
    const action = /<form method="post" action="([^"]+)"/.exec(text)?.[1]
    assert.ok(action, text)
    const hidden = [...text.matchAll(/type="hidden" name="([^"]+)" value="([^"]*)"/g)].map(([, name, value]) => [
      name,
      value,
    ])
    const project = /<option value="([^"]+)" selected/.exec(text)?.[1]
    const form = { ...Object.fromEntries(hidden), ...(project && { project }), ...fields }
    return this.open(new URL(action, url).href, { site: 'same-origin', form })
  }

  /** Signs in with a key and allows the application. Returns where the browser goes then. */
  async allow(url: string, key: string): Promise<URL> {
    await this.open(url)
    if (this.page.text.includes('name="key"')) await this.submit({ key })
    await this.submit({ decision: 'allow' })
    assert.ok(this.page.left, `${this.page.status} ${this.page.text}`)
    return new URL(this.page.left)
  }

  /** A session's cookie isn't sent if another site has led the browser here. */
  #cookiesFor(site: string): string {
    const sent = [...this.cookies].filter(([name]) => site !== 'cross-site' || !/^moorage-\d+$/.test(name))
    return sent.map(([name, value]) => `${name}=${value}`).join('; ')
  }

  #keep(cookies: string[]): void {
    for (const cookie of cookies) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? []
      if (/Max-Age=0/.test(cookie)) this.cookies.delete(name)
      else this.cookies.set(name, value)
    }
  }
}

export type Asked = { url: string; verifier: string; client_id: string; resource: string }

/** The URL to which a client sends a browser. A field that is null is left out. */
export function authorizeUrl(service: Service, client_id: string, more: Record<string, string | null> = {}): Asked {
  const verifier = randomBytes(32).toString('base64url')
  const resource = more['resource'] ?? `${service.url}/v1/mcp`
  const fields = {
    response_type: 'code',
    client_id,
    redirect_uri: REDIRECT_URI,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
    resource,
    scope: 'invoke:agents',
    state: 'a-state-of-the-client',
    ...more,
  }
  const kept = Object.entries(fields).filter((pair): pair is [string, string] => pair[1] !== null)
  return { url: `${service.url}/oauth/authorize?${new URLSearchParams(kept)}`, verifier, client_id, resource }
}

export type TokenReply = {
  status: number
  access_token: string
  refresh_token: string
  error?: string
  expires_in: number
  scope: string
}

export async function askToken(
  service: Service,
  form: Record<string, string>,
  path = '/oauth/token',
): Promise<TokenReply> {
  const { response, text } = await fetchSoon(service.url + path, { method: 'POST', body: new URLSearchParams(form) })
  return { status: response.status, ...JSON.parse(text) }
}

export function exchange(
  service: Service,
  { verifier, client_id }: Asked,
  code: string,
  more: Record<string, string> = {},
) {
  const form = {
    grant_type: 'authorization_code',
    code,
    client_id,
    redirect_uri: REDIRECT_URI,
    code_verifier: verifier,
  }
  return askToken(service, { ...form, ...more })
}

export function refresh(service: Service, client_id: string, refresh_token: string, more: Record<string, string> = {}) {
  return askToken(service, { grant_type: 'refresh_token', client_id, refresh_token, ...more })
}

/** Connects an application for the holder of a key. */
export async function connectApplication(
  service: Service,
  client_id: string,
  { key = service.admin, ...more }: Record<string, string> = {},
): Promise<TokenReply & Asked> {
  const asked = authorizeUrl(service, client_id, more)
  const back = await new ConsentBrowser(() => service).allow(asked.url, key)
  const given = await exchange(
    service,
    asked,
    back.searchParams.get('code') ?? '',
    more['redirect_uri'] ? { redirect_uri: more['redirect_uri'] } : {},
  )
  assert.equal(given.status, 200, JSON.stringify(given))
  return { ...asked, ...given }
}

/** An application that the admin's key has allowed, without a browser. Returns its ID. */
export async function makeApplication(service: Service): Promise<string> {
  const parts = partsOf(service)
  const { id } = (await service.call('GET', '/v1/keys/self')).body.data
  const actor = actorOf(await keys.get(storeOf(service), id))
  const client_id = 'https://client.test/client.json'
  const resource = 'https://agents.test/v1/mcp'
  const asked = { client_id, client_name: 'Client', redirect_uri: REDIRECT_URI, resource, agent_id: null }
  const origin = { request_id: parts.newId('req', parts.now()), address: '127.0.0.1' }
  const code = await allowApplication({ ...asked, code_challenge: '' }, actor, origin, parts)
  const application = await applications.findByCode(storeOf(service), hashOf('code', code) ?? '')
  assert.ok(application)
  return application.id
}

/** The official client, which knows nothing but the URL. The test opens `authorizationUrl` as its person. */
export class SignInClient implements OAuthClientProvider {
  readonly clientMetadataUrl: string
  readonly redirectUrl = REDIRECT_URI
  readonly clientMetadata: OAuthClientMetadata = { redirect_uris: [REDIRECT_URI], client_name: 'Harbour Chat' }
  readonly kept: Record<string, unknown> = {}
  authorizationUrl: URL | undefined
  readonly #url: URL

  constructor(clientMetadataUrl: string, url: string) {
    this.clientMetadataUrl = clientMetadataUrl
    this.#url = new URL(url)
  }

  state = () => 'state-of-the-official-client'
  clientInformation = () => this.kept['client'] as ReturnType<OAuthClientProvider['clientInformation']>
  saveClientInformation = (client: unknown) => void (this.kept['client'] = client)
  tokens = () => this.kept['tokens'] as ReturnType<OAuthClientProvider['tokens']>
  saveTokens = (tokens: unknown) => void (this.kept['tokens'] = tokens)
  redirectToAuthorization = (url: URL) => void (this.authorizationUrl = url)
  saveCodeVerifier = (verifier: string) => void (this.kept['verifier'] = verifier)
  codeVerifier = () => this.kept['verifier'] as string

  /** Connects. If its person must sign in first, `signIn` does that and returns where the browser has gone. */
  async connect(signIn: (url: string) => Promise<URL>): Promise<Client> {
    const open = () => new StreamableHTTPClientTransport(this.#url, { authProvider: this })
    const client = new Client({ name: 'test', version: '1' })
    const first = open()
    try {
      await client.connect(first)
      return client
    } catch (error) {
      if (!this.authorizationUrl) throw error
    }
    const back = await signIn(this.authorizationUrl.href)
    await first.finishAuth(back.searchParams)
    const again = new Client({ name: 'test', version: '1' })
    await again.connect(open())
    return again
  }
}

/** A call to the MCP server with a token. The answer may come as a stream of one event. */
export async function callMcp(
  service: Service,
  token: string,
  { path = '/v1/mcp', method = 'tools/list', params = {} } = {},
) {
  const body = { jsonrpc: '2.0', id: 1, method, params }
  const headers = { Accept: 'application/json, text/event-stream', 'MCP-Protocol-Version': '2025-11-25' }
  const reply = await service.call('POST', path, { key: token, body, headers })
  const [, data] = /^data: (.*)$/m.exec(reply.text) ?? []
  return data === undefined ? reply : { ...reply, body: JSON.parse(data) }
}

/** A stream on which a client is notified of changes. `ended` resolves when the service has ended it. */
export async function openStream(service: Service, token: string, path = '/v1/mcp') {
  const headers = {
    Authorization: `Bearer ${token}`,
    Accept: 'text/event-stream',
    'MCP-Protocol-Version': '2025-11-25',
  }
  const response = await fetch(service.url + path, { headers })
  assert.equal(response.status, 200)
  const drain = async () => {
    try {
      for await (const _ of response.body ?? []);
    } catch {
      // The service has closed the connection.
    }
  }
  return { ended: drain() }
}
