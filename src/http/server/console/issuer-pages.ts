import type { ServerResponse } from 'node:http'
import { z } from 'zod'
import { ApiError, badRequest, unavailable } from '../../../errors.ts'
import { addressBucket } from '../../../security/ip-list.ts'
import { IssuerRefusal, IssuerUnavailable, type OidcIssuer } from '../../../security/oidc/oidc-issuer.ts'
import { checkBodyHeaders, readBody, readBytes } from '../../input/body.ts'
import { validate } from '../../input/validate.ts'
import type { SignedIn } from '../../pipeline/edge.ts'
import { readCookie, sessionCookie } from '../../pipeline/guards/console-cookie.ts'
import { reportRefusal } from '../../pipeline/report-refusal.ts'
import type { ArrivedRequest } from '../../pipeline/request.ts'
import type { Endpoint } from '../endpoint.ts'
import type { Front } from '../front.ts'
import { publicUrl } from '../protected-resource.ts'
import { send } from '../replies/send.ts'
import { StateCookie } from '../replies/state-cookie.ts'
import { checkPage } from './console-session-pages.ts'

const BASE = '/console/sign-in/{issuer}'

const Begin = z.strictObject({
  to: z
    .string()
    .max(2_000)
    .regex(/^\/[\x21-\x7e]*$/, 'must be a path of the console')
    .default('/'),
  invitation: z.string().max(200).optional(),
})

const Attempt = z.object({
  issuer: z.string(),
  checks: z.object({ state: z.string(), nonce: z.string(), verifier: z.string() }),
  /** Where in the console the browser goes afterwards. */
  to: z.string(),
  invitation: z.string().optional(),
  /** The secret of the session that the browser had. */
  earlier: z.string().optional(),
})
type SignInAttempt = z.output<typeof Attempt>

const ATTEMPT = new StateCookie('moorage-sign-in', 'console.sign_in', Attempt)

/** Reasons that aren't refusals: the provider was unavailable. */
const UNANSWERED = new Set(['issuer_unavailable'])
/**
 * Reasons for which the person isn't known or proven. For any other reason, the person is known but may not sign in.
 */
const UNPROVEN = new Set(['expired', 'denied', 'refused'])

/** A token has a few kilobytes. Parsing a megabyte of small form fields would block other requests. */
const MAX_FORM_BYTES = 64 * 1024

function logoutTokenIn(form: Buffer | undefined): string {
  if (!form || form.length > MAX_FORM_BYTES) return ''
  return new URLSearchParams(form.toString('utf8')).get('logout_token') ?? ''
}

/**
 * Signing in with an identity provider: sends the browser there, receives it back, and accepts the provider's sign-out
 * notices.
 */
export function issuerPages(front: Front, console: SignedIn): { method: string; path: string; endpoint: Endpoint }[] {
  const pages = new IssuerPages(front, console)
  return [
    { method: 'POST', path: BASE, endpoint: { open: true, page: (...given) => pages.begin(...given) } },
    { method: 'GET', path: `${BASE}/callback`, endpoint: { open: true, page: (...given) => pages.finish(...given) } },
    { method: 'POST', path: `${BASE}/logout`, endpoint: { open: true, page: (...given) => pages.logout(...given) } },
  ]
}

export class IssuerPages {
  readonly #front: Front
  readonly #console: SignedIn

  constructor(front: Front, console: SignedIn) {
    this.#front = front
    this.#console = console
  }

  /** Tells our own page where to send the browser. */
  async begin(arrived: ArrivedRequest, response: ServerResponse): Promise<void> {
    const { parts } = this.#front.edge
    checkPage(arrived, this.#console)
    checkBodyHeaders(arrived)
    const bytes = await readBytes(arrived.message, parts.config)
    const { to, invitation } = validate(Begin, readBody({ input: { body: Begin } }, bytes))
    const { url, cookie } = await this.sendAway(arrived, { to, invitation })
    arrived.headers['Set-Cookie'] = cookie
    this.#front.requests.count(arrived, 200)
    send(response, arrived.headers, {
      status: 200,
      headers: {},
      body: JSON.stringify({ success: true, data: { url } }),
    })
  }

  /** Where a browser signs in, and the cookie that it needs for coming back to `to`. */
  async sendAway(
    arrived: ArrivedRequest,
    { to, invitation }: z.output<typeof Begin>,
  ): Promise<{ url: string; cookie: string }> {
    const issuer = this.#issuerOf(arrived)
    // Limits how often a stranger can make us call the provider.
    await this.#front.steps.failures.count(addressBucket(arrived.address))
    const { url, checks } = await issuer.begin(this.#callback(arrived, issuer)).catch((error) => {
      if (!(error instanceof IssuerUnavailable)) throw error
      this.#tell(arrived, issuer, error)
      throw unavailable("The identity provider isn't responding. You can still sign in with a key or a link.", 5_000)
    })
    // The browser doesn't send its session's cookie when it comes back from another site.
    const attempt = { issuer: issuer.settings.name, checks, to, invitation, earlier: readCookie(arrived) }
    return { url, cookie: ATTEMPT.set(arrived, checks.state, attempt, this.#front.edge.parts) }
  }

  /** The browser comes back from the provider. There is no page here, so the page that sent it away shows any error. */
  async finish(arrived: ArrivedRequest, response: ServerResponse): Promise<void> {
    const { parts } = this.#front.edge
    arrived.trace.action = 'signIn'
    this.#console.door.checkHost(arrived)
    this.#console.door.checkSecrecy(arrived)
    const issuer = this.#issuerOf(arrived)
    // Only the provider can tell whether a code is valid, so the number of calls to it must be limited.
    await this.#front.steps.failures.count(addressBucket(arrived.address))
    const state = new URLSearchParams(arrived.query).get('state') ?? ''
    const attempt = ATTEMPT.read(arrived, state, parts)
    const cookies = [ATTEMPT.forget(arrived, state)]
    const result =
      attempt && attempt.issuer === issuer.settings.name ? await this.#signIn(arrived, issuer, attempt) : 'expired'
    if (typeof result === 'string') {
      const code = UNANSWERED.has(result) ? undefined : UNPROVEN.has(result) ? 'unauthorized' : 'forbidden'
      if (code) reportRefusal(parts.audit, arrived, new ApiError(code, result))
      const isForClient = attempt?.to.startsWith('/oauth/')
      const page = isForClient ? `${attempt?.to}&failed=${result}` : `/#sign-in-failed=${result}`
      return this.#redirect(arrived, response, page, cookies)
    }
    cookies.push(sessionCookie(arrived, result.secret))
    this.#redirect(arrived, response, attempt?.to ?? '/', cookies)
  }

  /** Signs the person in, and ends the browser's previous session. Returns the reason if the person isn't signed in. */
  async #signIn(
    arrived: ArrivedRequest,
    issuer: OidcIssuer,
    attempt: SignInAttempt,
  ): Promise<{ secret: string } | string> {
    const { request_id, address, secure, message } = arrived
    const callback = new URL(`${this.#callback(arrived, issuer)}?${arrived.query}`)
    try {
      const vouched = await issuer.finish(callback, attempt.checks)
      const from = { request_id, address, secure, browser: message.headers['user-agent'] ?? '' }
      const signed = await this.#console.sessions.signInPerson(vouched, issuer, from, attempt.invitation)
      if (typeof signed === 'string') {
        this.#tell(arrived, issuer, new Error(signed))
        return signed
      }
      if (attempt.earlier) await this.#console.sessions.endEarlier(attempt.earlier, signed.actor, arrived)
      arrived.trace.actor = signed.actor
      return signed
    } catch (error) {
      if (!(error instanceof IssuerUnavailable || error instanceof IssuerRefusal || error instanceof ApiError))
        throw error
      this.#tell(arrived, issuer, error)
      if (error instanceof IssuerUnavailable) return 'issuer_unavailable'
      return error.code === 'access_denied' ? 'denied' : 'refused'
    }
  }

  /** OpenID Connect Back-Channel Logout: the provider reports that a person has signed out there. */
  async logout(arrived: ArrivedRequest, response: ServerResponse): Promise<void> {
    const { parts } = this.#front.edge
    arrived.trace.action = 'signOutByIssuer'
    const issuer = this.#issuerOf(arrived)
    const bytes = await readBytes(arrived.message, parts.config)
    const whose = await issuer.readLogout(logoutTokenIn(bytes))
    if (whose === undefined || whose === 'unavailable') {
      await this.#front.steps.failures.count(addressBucket(arrived.address))
      if (whose === 'unavailable') {
        parts.log.warn(
          { request_id: arrived.request_id, issuer: issuer.settings.name },
          'a logout could not be checked',
        )
        throw unavailable("The identity provider isn't responding. Try again shortly.", 5_000)
      }
      throw badRequest('This logout token is not valid.')
    }
    await this.#console.sessions.endOfIssuer(issuer.settings.name, whose, arrived)
    this.#front.requests.count(arrived, 200)
    send(response, arrived.headers, { status: 200, headers: { 'Cache-Control': 'no-store' }, body: '' })
  }

  #issuerOf({ params }: ArrivedRequest): OidcIssuer {
    const issuer = this.#console.sessions.findIssuer(params['issuer'] ?? '')
    if (!issuer) throw new ApiError('not_found', 'There is no such identity provider.')
    return issuer
  }

  #callback(arrived: ArrivedRequest, { settings }: OidcIssuer): string {
    return `${publicUrl(arrived, this.#front.edge.parts.config.server)}/console/sign-in/${settings.name}/callback`
  }

  #redirect(arrived: ArrivedRequest, response: ServerResponse, to: string, cookies: string[]): void {
    this.#front.requests.count(arrived, 303)
    const location = publicUrl(arrived, this.#front.edge.parts.config.server) + to
    response.writeHead(303, {
      ...arrived.headers,
      Location: location,
      'Cache-Control': 'no-store',
      'Set-Cookie': cookies,
    })
    response.end()
  }

  #tell({ request_id }: ArrivedRequest, { settings }: OidcIssuer, { message }: Error): void {
    const { log } = this.#front.edge.parts
    log.warn({ request_id, issuer: settings.name, reason: message }, 'a person could not sign in')
  }
}
