import type { ServerResponse } from 'node:http'
import { z } from 'zod'
import { ApiError, conflict } from '../../../errors.ts'
import { addressBucket } from '../../../security/ip-list.ts'
import type { ArrivedRequest } from '../../pipeline/request.ts'
import { html } from '../../reference/html.ts'
import type { Endpoint } from '../endpoint.ts'
import type { Front } from '../front.ts'
import { sendPage } from '../replies/send-page.ts'
import { StateCookie } from '../replies/state-cookie.ts'
import type { Router } from '../router.ts'

const ATTEMPT = new StateCookie(
  'moorage-connect',
  'connection.sign_in',
  z.object({
    connection_id: z.string(),
    link_id: z.string(),
    checks: z.object({ state: z.string(), verifier: z.string() }),
    asked: z.array(z.string()),
  }),
)

/**
 * The page has no scripts and loads nothing from elsewhere, and no other page can show it in a frame. Its URL contains
 * a code, so no referrer is sent.
 */
const PAGE_HEADERS = {
  'Content-Type': 'text/html; charset=utf-8',
  'Content-Security-Policy': "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'",
  'Referrer-Policy': 'no-referrer',
  'X-Frame-Options': 'DENY',
}

/**
 * Adds the pages where users sign in for connections: the link, the page to which the provider sends the browser back,
 * and the client ID metadata document.
 */
export function addConnectPages(endpoints: Router<Endpoint>, front: Front): void {
  const pages = new ConnectPages(front)
  const add = (path: string, page: NonNullable<Endpoint['page']>) => endpoints.add('GET', path, { open: true, page })
  add('/connect/{link_id}/{code}', (...given) => pages.shown(pages.begin(...given), ...given))
  add('/connect/callback/{connection_id}', (...given) => pages.shown(pages.finish(...given), ...given))
  add('/connect/client/{connection_id}', (...given) => pages.describe(...given))
}

class ConnectPages {
  readonly #front: Front

  constructor(front: Front) {
    this.#front = front
  }

  /** Sends the browser to the provider. */
  async begin(arrived: ArrivedRequest, response: ServerResponse): Promise<void> {
    const { connect, parts } = this.#front.edge
    const { link_id = '', code = '' } = arrived.params
    const { url, attempt } = await connect.begin(link_id, code)
    this.#leadTo(arrived, response, url, ATTEMPT.set(arrived, attempt.checks.state, attempt, parts))
  }

  /** The browser comes back from the provider. */
  async finish(arrived: ArrivedRequest, response: ServerResponse): Promise<void> {
    const { connect, parts } = this.#front.edge
    // Only the provider can tell whether a code is valid, so the number of calls to it must be limited.
    await this.#front.steps.failures.count(addressBucket(arrived.address))
    const state = new URLSearchParams(arrived.query).get('state') ?? ''
    const attempt = ATTEMPT.read(arrived, state, parts)
    if (!attempt)
      throw new ApiError(
        'forbidden',
        'This browser did not begin the sign-in, or it took too long. Open the link again.',
      )
    const connection_id = arrived.params['connection_id'] ?? ''
    const { publicUrl } = parts.config.server
    if (publicUrl === undefined) throw conflict('server.publicUrl is not set.')
    const callback = new URL(`${publicUrl}/connect/callback/${connection_id}?${arrived.query}`)
    const { connection, status, return_to } = await connect.finish(connection_id, attempt, callback)
    const cookie = ATTEMPT.forget(arrived, state)
    if (return_to !== undefined) return this.#leadTo(arrived, response, return_to, cookie)
    const words =
      status === 'ok'
        ? { title: `Signed in to ${connection}`, text: 'You can close this page and go back to where you came from.' }
        : {
            title: `Not signed in to ${connection}`,
            text: 'You declined. Open the link again if you change your mind.',
          }
    arrived.headers['Set-Cookie'] = cookie
    this.#show(arrived, response, 200, words)
  }

  async describe(arrived: ArrivedRequest, response: ServerResponse): Promise<void> {
    const document = await this.#front.edge.connect.describeClient(arrived.params['connection_id'] ?? '')
    const body = Buffer.from(JSON.stringify(document))
    this.#front.requests.count(arrived, 200)
    sendPage(response, arrived.headers, { status: 200, headers: { 'Content-Type': 'application/json' }, body })
  }

  /** People see a page that says what is wrong, not JSON. */
  async shown(page: Promise<void>, arrived: ArrivedRequest, response: ServerResponse): Promise<void> {
    try {
      await page
    } catch (error) {
      if (!(error instanceof ApiError) || error.status >= 500 || response.headersSent) throw error
      // Codes of links can't be guessed one after the other.
      if (error.code === 'not_found') await this.#front.steps.failures.count(addressBucket(arrived.address))
      this.#show(arrived, response, error.status, { title: 'Sign-in failed', text: error.message })
    }
  }

  #show(
    arrived: ArrivedRequest,
    response: ServerResponse,
    status: number,
    { title, text }: { title: string; text: string },
  ) {
    const page = html`<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title}</title><style>body{font:16px/1.5 system-ui,sans-serif;max-width:32rem;margin:15vh auto;padding:0 1rem;color:#1c2733;background:#fff}@media(prefers-color-scheme:dark){body{color:#e6edf3;background:#10161d}}h1{font-size:1.4rem}</style></head><body><main><h1>${title}</h1><p>${text}</p></main></body></html>`
    this.#front.requests.count(arrived, status)
    sendPage(response, arrived.headers, { status, headers: PAGE_HEADERS, body: Buffer.from(page.text) })
  }

  #leadTo(arrived: ArrivedRequest, response: ServerResponse, Location: string, cookie: string): void {
    this.#front.requests.count(arrived, 303)
    response.writeHead(303, { ...arrived.headers, Location, 'Set-Cookie': cookie, 'Referrer-Policy': 'no-referrer' })
    response.end()
  }
}
