import { randomBytes } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { ApiError, badRequest, forbidden } from '../../../errors.ts'
import { type Actor, workingIn } from '../../../operation/actor.ts'
import { sha256 } from '../../../security/digest.ts'
import { addressBucket } from '../../../security/ip-list.ts'
import { isWellFormedKey } from '../../../security/key-format.ts'
import { ClientDocuments } from '../../../security/oauth/client-document.ts'
import type { ConnectedApplications, SignedIn } from '../../pipeline/edge.ts'
import { enterGate } from '../../pipeline/guards/authorise.ts'
import { readCookie, sessionCookie } from '../../pipeline/guards/console-cookie.ts'
import { requireRight } from '../../pipeline/guards/require-code.ts'
import { countRequest } from '../../pipeline/pipeline.ts'
import { reportRefusal } from '../../pipeline/report-refusal.ts'
import type { AgentAccess, ArrivedRequest } from '../../pipeline/request.ts'
import { IssuerPages } from '../console/issuer-pages.ts'
import type { Front } from '../front.ts'
import { type ServedPage, sendPage } from '../replies/send-page.ts'
import { StateCookie } from '../replies/state-cookie.ts'
import { AuthorizationRequest, readAuthorizationRequest } from './authorization-request.ts'
import { isConsentForm, makeConsentForm, readOwnForm } from './consent-form.ts'
import { consentPage, messagePage, reloadPage, signInPage, whyNot } from './consent-html.ts'

const REQUESTS = new StateCookie('moorage-authorize', 'oauth.authorize', AuthorizationRequest)
/** A browser may have several sign-ins in progress. With more cookies, its requests could exceed the limit of headers. */
const MOST_REQUESTS = 4

const EXPIRED =
  'This sign-in has expired, or it was started in another browser. Go back to your application and connect it again.'

type PendingRequest = { request: string; asked: AuthorizationRequest }
type Consent = PendingRequest & { actor: Actor }

/** The pages at which a person signs in and decides whether an application may act for them. */
export class ConsentPages {
  readonly #front: Front
  readonly #console: SignedIn
  readonly #applications: ConnectedApplications
  readonly #publicUrl: string
  readonly #clients: ClientDocuments
  readonly #issuers: IssuerPages

  constructor(front: Front, console: SignedIn, applications: ConnectedApplications, publicUrl: string) {
    this.#front = front
    this.#console = console
    this.#applications = applications
    this.#publicUrl = publicUrl
    this.#clients = new ClientDocuments(front.edge.parts)
    this.#issuers = new IssuerPages(front, console)
  }

  /** A client has sent the browser. What it asks for is checked and kept in the browser. */
  async begin(arrived: ArrivedRequest, response: ServerResponse): Promise<void> {
    const { parts } = this.#front.edge
    const asked = await readAuthorizationRequest(arrived.query, {
      publicUrl: this.#publicUrl,
      clients: this.#clients,
      // Limits how often a stranger can make us fetch a document.
      beforeFetch: () => this.#front.steps.failures.count(`oauth:${addressBucket(arrived.address)}`),
      warn: (reason) => parts.log.warn({ err: reason, request_id: arrived.request_id }, 'a client was refused'),
    })
    const request = randomBytes(16).toString('base64url')
    const earlier = REQUESTS.statesIn(arrived)
    const dropped = earlier.length < MOST_REQUESTS ? [] : earlier.map((state) => REQUESTS.forget(arrived, state))
    const cookies = [...dropped, REQUESTS.set(arrived, request, asked, parts)]
    this.#lead(arrived, response, `${this.#publicUrl}/oauth/consent?request=${request}`, cookies)
  }

  /** Asks the person to sign in, or to decide. */
  async show(arrived: ArrivedRequest, response: ServerResponse): Promise<void> {
    const query = new URLSearchParams(arrived.query)
    const found = this.#read(arrived, query.get('request'))
    if (readCookie(arrived) === undefined && arrived.message.headers['sec-fetch-site'] === 'cross-site')
      return this.#show(arrived, response, reloadPage(`/oauth/consent?request=${found.request}`))
    const actor = await this.#findActor(arrived)
    const failed = query.get('failed')
    if (!actor || failed !== null || query.get('as') === 'other')
      return this.#showSignIn(arrived, response, found, failed === null ? undefined : whyNot(failed))
    await countRequest(this.#front.edge, { arrived, actor })
    await this.#showConsent(arrived, response, { ...found, actor })
  }

  /** The person has decided. */
  async decide(arrived: ArrivedRequest, response: ServerResponse): Promise<void> {
    arrived.trace.action = 'connectApplication'
    const form = await readOwnForm(arrived, this.#publicUrl, this.#front.edge.parts)
    const found = this.#read(arrived, form.get('request'))
    const { request, asked } = found
    if (form.get('decision') !== 'allow') {
      const answer = { error: 'access_denied', error_description: 'The person declined.' }
      return this.#lead(arrived, response, this.#backTo(asked, answer), [REQUESTS.forget(arrived, request)])
    }
    const actor = await this.#findActor(arrived)
    if (!actor) return this.#showSignIn(arrived, response, found, 'Your session has ended. Sign in again.', 401)
    arrived.trace.actor = actor
    await countRequest(this.#front.edge, { arrived, actor })
    const consent = { ...found, actor }
    // The form was made for another session: its person hasn't seen what this one would allow.
    if (!isConsentForm(form.get('form') ?? '', { request, actor }, this.#front.edge.parts))
      return this.#showConsent(arrived, response, consent, {
        error: 'You signed in with another account meanwhile. Decide again.',
        status: 409,
      })
    try {
      const code = await this.#connect(arrived, consent, form)
      this.#lead(arrived, response, this.#backTo(asked, { code }), [REQUESTS.forget(arrived, request)])
    } catch (error) {
      if (!(error instanceof ApiError) || error.status >= 500) throw error
      this.#report(arrived, error)
      const { message, status } = error
      await this.#showConsent(arrived, response, consent, { error: message, status, project: form.get('project') })
    }
  }

  /** Signs in with a key. */
  async signIn(arrived: ArrivedRequest, response: ServerResponse): Promise<void> {
    arrived.trace.action = 'signIn'
    const { edge, steps } = this.#front
    const { sessions } = this.#console
    const form = await readOwnForm(arrived, this.#publicUrl, this.#front.edge.parts)
    const found = this.#read(arrived, form.get('request'))
    const key = form.get('key')?.trim() ?? ''
    const holder = isWellFormedKey(key) ? (await edge.keys.verify(sha256(key)))?.actor : undefined
    if (holder) await countRequest(edge, { arrived, actor: holder })
    const { request_id, address, secure, message } = arrived
    const earlier = await this.#findActor(arrived)
    const from = { request_id, address, secure, browser: message.headers['user-agent'] ?? '' }
    const signed = holder && (await sessions.signIn({ key }, from))
    if (!signed) {
      await steps.failures.count(addressBucket(address))
      const refusal = new ApiError('unauthorized', 'This key is invalid or has expired.')
      this.#report(arrived, refusal)
      return this.#showSignIn(arrived, response, found, refusal.message, 401)
    }
    if (earlier) await sessions.signOut(earlier, { request_id, address }, this.#publicUrl)
    arrived.trace.actor = signed.actor
    const again = `${this.#publicUrl}/oauth/consent?request=${found.request}`
    this.#lead(arrived, response, again, [sessionCookie(arrived, signed.secret)])
  }

  /** Sends the browser to an identity provider. It comes back as from the console, and then to the consent page. */
  async goToIssuer(arrived: ArrivedRequest, response: ServerResponse): Promise<void> {
    this.#checkPlace(arrived)
    const { request } = this.#read(arrived, new URLSearchParams(arrived.query).get('request'))
    const to = `/oauth/consent?request=${request}`
    const { url, cookie } = await this.#issuers.sendAway(arrived, { to })
    this.#lead(arrived, response, url, [cookie])
  }

  /** People see a page that says what is wrong, not JSON. */
  async shown(page: Promise<void>, arrived: ArrivedRequest, response: ServerResponse): Promise<void> {
    try {
      await page
    } catch (error) {
      if (!(error instanceof ApiError) || error.status >= 500 || response.headersSent) throw error
      this.#report(arrived, error)
      this.#show(arrived, response, messagePage(error.status, "The application can't be connected", error.message))
    }
  }

  /** Refusals are in the audit log, as those of the console. */
  #report(arrived: ArrivedRequest, refusal: ApiError): void {
    reportRefusal(this.#front.edge.parts.audit, arrived, refusal)
  }

  async #connect(arrived: ArrivedRequest, { asked, actor: signedIn }: Consent, form: URLSearchParams): Promise<string> {
    const { request_id, address } = arrived
    const actor = await this.#inChosenProject(signedIn, form.get('project'))
    const agent = await this.#enterAgent(arrived, asked, actor)
    await this.#checkCode(actor, agent, form.get('code') ?? '')
    const { client_id, client_name, redirect_uri, resource, code_challenge } = asked
    const allowed = { client_id, client_name, redirect_uri, resource, code_challenge, agent_id: agent?.id ?? null }
    return this.#applications.connect(allowed, actor, { request_id, address })
  }

  /** The agent's own security applies, as for a key of the agent. */
  async #enterAgent(
    arrived: ArrivedRequest,
    asked: AuthorizationRequest,
    actor: Actor,
  ): Promise<AgentAccess | undefined> {
    const ref = asked.agent ?? actor.scope.agent_id
    if (ref === null) return undefined
    const agent = await this.#findAgent(asked, actor)
    if (!agent) throw forbidden(`You don't have access to an agent ${ref} in this project.`)
    arrived.trace.agent_id = agent.id
    if (agent.gate) await enterGate(arrived, agent.gate, agent.id, this.#front.edge)
    return agent
  }

  /** The only agent that the application could use: the one that it asks for, or that of whoever is signed in. */
  async #findAgent({ agent: named }: AuthorizationRequest, { scope }: Pick<Actor, 'scope'>) {
    const ref = named ?? scope.agent_id
    const agent = ref === null ? undefined : await this.#front.edge.findAgent(scope.project_id, ref)
    return scope.agent_id === null || scope.agent_id === agent?.id ? agent : undefined
  }

  /** Only someone whose session can choose between projects can name one. */
  async #inChosenProject(actor: Actor, project_id: string | null): Promise<Actor> {
    const here = actor.scope.project_id
    if (project_id === null || project_id === here) return workingIn(actor, here)
    const { projects } = await this.#console.sessions.describe(actor)
    if (!projects.some(({ id }) => id === project_id)) throw forbidden('You have no access to this project.')
    return workingIn(actor, project_id)
  }

  /** Whoever needs a second factor to create a key needs it here too. */
  async #checkCode(actor: Actor, agent: AgentAccess | undefined, code: string): Promise<void> {
    if (!this.#needsCode(actor, agent)) return
    if (!/^\d{6}$/.test(code)) throw badRequest('Enter the six digits of your one-time code.')
    requireRight(await this.#front.edge.spendCode(actor.id, code))
  }

  #needsCode({ is_strong }: Actor, agent: AgentAccess | undefined): boolean {
    const gates = [this.#front.edge.service.gate, agent?.gate]
    return !is_strong && gates.some((gate) => gate?.mfa?.has('keys'))
  }

  #read(arrived: ArrivedRequest, request: string | null): PendingRequest {
    this.#checkPlace(arrived)
    const asked = REQUESTS.read(arrived, request ?? '', this.#front.edge.parts)
    if (!asked) throw badRequest(EXPIRED)
    return { request: request ?? '', asked }
  }

  #checkPlace(arrived: ArrivedRequest): void {
    this.#console.door.checkHost(arrived)
    this.#console.door.checkSecrecy(arrived)
  }

  async #findActor(arrived: ArrivedRequest): Promise<Actor | undefined> {
    const secret = readCookie(arrived)
    if (secret === undefined) return undefined
    const used = await this.#console.sessions.use(secret, arrived)
    if (!used) await this.#front.steps.failures.count(addressBucket(arrived.address))
    else if (used.fresh !== undefined) arrived.headers['Set-Cookie'] = sessionCookie(arrived, used.fresh)
    return used?.actor
  }

  async #showConsent(
    arrived: ArrivedRequest,
    response: ServerResponse,
    consent: Consent,
    { error, status = 200, project }: { error?: string; status?: number; project?: string | null } = {},
  ): Promise<void> {
    const { request, asked, actor } = consent
    const { key, person, projects } = await this.#console.sessions.describe(actor)
    const who = person ? (person.email ?? person.name) : `the key ${key?.name ?? ''}`
    const form = makeConsentForm(consent, this.#front.edge.parts)
    const project_id = projects.find(({ id }) => id === project)?.id ?? actor.scope.project_id
    const agent = await this.#findAgent(asked, { scope: { ...actor.scope, project_id } })
    const needsCode = this.#needsCode(actor, agent)
    const page = consentPage({ request, form, asked, who, projects, project_id, needsCode, error, status })
    this.#show(arrived, response, page)
  }

  #showSignIn(
    arrived: ArrivedRequest,
    response: ServerResponse,
    { request, asked }: PendingRequest,
    error?: string,
    status = 200,
  ): void {
    const issuers = this.#console.sessions.issuers()
    this.#show(arrived, response, signInPage({ request, asked, issuers, error, status }))
  }

  #show(arrived: ArrivedRequest, response: ServerResponse, page: ServedPage): void {
    this.#front.requests.count(arrived, page.status)
    sendPage(response, arrived.headers, page)
  }

  /** Names this service, so that a client that knows several can't mistake one's answer for another's (RFC 9207). */
  #backTo({ redirect_uri, state }: AuthorizationRequest, answer: Record<string, string>): string {
    const params = new URLSearchParams({ ...answer, ...(state !== undefined && { state }), iss: this.#publicUrl })
    return `${redirect_uri}${redirect_uri.includes('?') ? '&' : '?'}${params}`
  }

  #lead(arrived: ArrivedRequest, response: ServerResponse, Location: string, cookies: string[]): void {
    this.#front.requests.count(arrived, 303)
    const { 'Set-Cookie': own, ...headers } = arrived.headers
    const all = own === undefined ? cookies : [own, ...cookies]
    response.writeHead(303, { ...headers, Location, 'Set-Cookie': all, 'Referrer-Policy': 'no-referrer' })
    response.end()
  }
}
