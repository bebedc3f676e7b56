import assert from 'node:assert/strict'
import { type AuthorizationServer, CONFIDENTIAL } from '../outside/authorization-server.ts'
import { LOCAL_TOOLS } from '../outside/local-server.ts'
import { fetchSoon } from '../running/patience.ts'
import type { Service } from '../service/service.ts'

/** Where the service is for browsers. `Browser` finds it at its real address. */
export const PUBLIC_URL = 'https://agents.test/moorage'

export const CONNECTED = { ...LOCAL_TOOLS, MOORAGE_SERVER__PUBLIC_URL: PUBLIC_URL }

/** A connection to the server by its issuer. */
export function toServer({ url, host }: Pick<AuthorizationServer, 'url' | 'host'>, more: object = {}) {
  const client = { client_id: CONFIDENTIAL.id, client_secret: CONFIDENTIAL.secret }
  return { kind: 'oauth2', issuer: url, ...client, scopes: ['read'], hosts: [host], ...more }
}

/** An agent that says who the upstream thinks it is. */
export function whoamiAgent({ url }: { url: string }, name = 'desk', tool: object = {}) {
  const headers = { Authorization: `Bearer {{connection.${name}}}` }
  return {
    model: 'builtin/script',
    tools: [{ type: 'http', name: 'whoami', url: `${url}/whoami`, headers, ...tool }],
    script: { rules: [{ call: { tool: 'whoami', arguments: {} }, reply: 'Upstream: {{result}}' }] },
  }
}

/** A browser with cookies. */
export class Browser {
  readonly #service: () => Service
  readonly cookies = new Map<string, string>()
  /** The page that it shows. */
  text = ''

  constructor(service: () => Service) {
    this.#service = service
  }

  async open(url: string): Promise<Response> {
    const { response, text } = await fetchSoon(url.replace(PUBLIC_URL, this.#service().url), {
      redirect: 'manual',
      headers: { accept: 'text/html', cookie: [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ') },
    })
    this.text = text
    for (const cookie of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? []
      if (/Max-Age=0/.test(cookie)) this.cookies.delete(name)
      else this.cookies.set(name, value)
    }
    return response
  }

  /** Follows redirects until there is a page, or until a URL of another origin than these. */
  async signIn(link: string): Promise<{ status: number; url: string; at: string[] }> {
    const at: string[] = []
    for (let url = link; ; ) {
      at.push(url)
      const response = await this.open(url)
      const next = response.headers.get('location')
      if (next === null) return { status: response.status, url, at }
      url = new URL(next, url).href
      if (url.startsWith('https://app.test')) return { status: response.status, url, at }
      assert.ok(at.length < 10, at.join('\n'))
    }
  }
}

/** The user has signed in, and the application has confirmed it. */
export async function connect(service: () => Service, name: string, user_id: string | undefined) {
  const path = `/v1/connections/${name}/links`
  const body = user_id === undefined ? {} : { user_id }
  const made = await service().call('POST', path, { body })
  assert.equal(made.status, 201, made.text)
  const { link_id, url } = made.body.data
  const signedIn = await new Browser(service).signIn(url)
  assert.equal(signedIn.status, 200, signedIn.at.join('\n'))
  const confirmed = await service().call('POST', `${path}/${link_id}/confirm`, { body })
  assert.equal(confirmed.status, 200, confirmed.text)
  return confirmed.body.data
}
