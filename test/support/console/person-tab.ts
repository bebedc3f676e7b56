import assert from 'node:assert/strict'
import type { OidcIssuer } from '../outside/oidc-issuer.ts'
import { fetchSoon } from '../running/patience.ts'
import type { Reply, Service } from '../service/service.ts'
import { ConsoleTab } from './console-tab.ts'

/** Signs in a command line whose person confirms it in a browser. */
export async function signInDevice(
  service: Service,
  name: string,
  more: { issuer?: string; project?: string } = {},
): Promise<{ id: string; secret: string }> {
  const { issuer, project } = more
  const begun = await service.call('POST', '/console/devices', { key: null, body: { issuer } })
  assert.equal(begun.status, 200, begun.text)
  const { device, verification_uri_complete } = begun.body.data
  await new PersonTab(() => service).approveDevice(verification_uri_complete)
  const made = await service.call('POST', '/console/devices/key', { key: null, body: { device, name, project } })
  assert.equal(made.status, 201, made.text)
  return made.body.data
}

/** A browser in which people sign in with an identity provider: it goes there and comes back, with all its cookies. */
export class PersonTab extends ConsoleTab {
  readonly #atIssuer = new Map<string, string>()
  readonly #service: () => Service

  constructor(service: () => Service, headers: Record<string, string> = {}) {
    super(service, headers)
    this.#service = service
  }

  /** The provider's URL to which the console sends the browser, and the cookie of this attempt. */
  async begin(name = 'corp', body: object = {}): Promise<{ url: string; attempt: string }> {
    const before = this.cookie
    const reply = await this.ask('POST', `/console/sign-in/${name}`, { body })
    assert.equal(reply.status, 200, reply.text)
    const [attempt = ''] = this.setCookie.split(';')
    this.cookie = before
    return { url: reply.body.data.url, attempt }
  }

  /** Signs in at the provider. Returns the URL to which the provider sends the browser back. */
  async goTo(url: string): Promise<string> {
    const { at, text } = await this.#walk(url)
    assert.equal(new URL(at).origin, new URL(this.#service().url).origin, text)
    return at
  }

  /** Confirms on the page where the provider asks about a device. */
  async approveDevice(page: string): Promise<void> {
    const { at, text } = await this.#walk(page)
    const shown = await this.#submit(at, text, {})
    const done = await this.#submit(shown.at, shown.text, { confirm: 'yes' })
    assert.match(done.text, /success/i)
  }

  /** Signs out at the provider itself. */
  async signOutAt({ url }: OidcIssuer): Promise<void> {
    const { at, text } = await this.#walk(`${url}/session/end`)
    await this.#submit(at, text, { logout: 'yes' })
  }

  /** Sends the form of a provider's page. */
  async #submit(at: string, page: string, more: Record<string, string>): Promise<{ at: string; text: string }> {
    const action = /action="([^"]+)"/.exec(page)?.[1]
    assert.ok(action, page)
    const hidden = [...page.matchAll(/name="([^"]+)" value="([^"]*)"/g)].map(([, name = '', value = '']) => [
      name,
      value,
    ])
    return this.#walk(new URL(action, at).href, new URLSearchParams({ ...Object.fromEntries(hidden), ...more }))
  }

  /** Follows redirects until it reaches a page or the service. */
  async #walk(url: string, form?: URLSearchParams): Promise<{ at: string; text: string }> {
    let at = url
    let body = form
    for (let hop = 0; hop < 10; hop++) {
      if (new URL(at).origin === new URL(this.#service().url).origin) return { at, text: '' }
      const cookie = [...this.#atIssuer].map(([name, value]) => `${name}=${value}`).join('; ')
      const { response, text } = await fetchSoon(at, {
        redirect: 'manual',
        ...(cookie && { headers: { cookie } }),
        ...(body && { method: 'POST', body }),
      })
      body = undefined
      for (const set of response.headers.getSetCookie()) {
        const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(set) ?? []
        this.#atIssuer.set(name, value)
      }
      const next = response.headers.get('location')
      if (!next) return { at, text }
      at = new URL(next, at).href
    }
    throw new Error(`the identity provider did not redirect back from ${url}`)
  }

  /** Comes back from the provider. */
  async comeBack(address: string, attempt: string): Promise<Reply> {
    const { pathname, search } = new URL(address)
    const cookie = [this.cookie, attempt].filter(Boolean).join('; ')
    const reply = await this.ask('GET', pathname + search, {
      headers: { Cookie: cookie, 'Sec-Fetch-Site': 'cross-site', 'X-Moorage-Console': undefined },
    })
    const session = reply.headers.getSetCookie().find((set) => /^(?:__Host-)?moorage(?:-\d+)?=/.test(set))
    this.cookie = session?.split(';')[0] ?? ''
    return reply
  }

  /** Does all of this. Returns the console path at which the browser ends. */
  async signInAs(issuer: OidcIssuer, subject: string | undefined, body: object = {}, name = 'corp'): Promise<string> {
    issuer.next = subject
    const { url, attempt } = await this.begin(name, body)
    const { status, headers, text } = await this.comeBack(await this.goTo(url), attempt)
    assert.equal(status, 303, text)
    return (headers.get('location') ?? '').replace(this.#service().url, '')
  }

  /** What the console knows about its own session. */
  // oxlint-disable-next-line typescript/no-explicit-any
  async session(project?: string): Promise<any> {
    const headers = project === undefined ? {} : { 'Moorage-Project': project }
    return (await this.ask('GET', '/console/session', { headers })).body.data
  }
}
