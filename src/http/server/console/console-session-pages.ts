import type { ServerResponse } from 'node:http'
import { z } from 'zod'
import { ApiError, forbidden } from '../../../errors.ts'
import { formatTime } from '../../../lib/time.ts'
import { version } from '../../../lib/version.ts'
import type { Actor } from '../../../operation/actor.ts'
import type { Operation } from '../../../operation.ts'
import { sha256 } from '../../../security/digest.ts'
import { addressBucket } from '../../../security/ip-list.ts'
import { isWellFormedKey } from '../../../security/key-format.ts'
import { checkBodyHeaders, readBody, readBytes } from '../../input/body.ts'
import { validate } from '../../input/validate.ts'
import type { SignedIn } from '../../pipeline/edge.ts'
import { mayCall } from '../../pipeline/guards/authorise.ts'
import { inProject } from '../../pipeline/guards/choose-project.ts'
import { actorOfCookie, forgetCookie, readCookie, setCookie } from '../../pipeline/guards/console-cookie.ts'
import { countRequest } from '../../pipeline/pipeline.ts'
import type { ArrivedRequest } from '../../pipeline/request.ts'
import type { Endpoint } from '../endpoint.ts'
import type { Front } from '../front.ts'
import { publicUrl } from '../protected-resource.ts'
import { send } from '../replies/send.ts'

const SignIn = z.union([
  z.strictObject({ key: z.string().max(200) }),
  z.strictObject({ link_token: z.string().max(200) }),
])

/** Applications can only be connected if `mcp.signIn` is set. */
const OF_APPLICATIONS = '/v1/connected-applications'

/** `/console/session`: signs a browser in, returns who is signed in, and signs out. */
export function sessionPages(front: Front, console: SignedIn): { method: string; endpoint: Endpoint }[] {
  const pages = new SessionPages(front, console)
  return [
    { method: 'POST', endpoint: { open: true, page: (arrived, response) => pages.signIn(arrived, response) } },
    { method: 'GET', endpoint: { open: true, page: (arrived, response) => pages.show(arrived, response) } },
    { method: 'DELETE', endpoint: { open: true, page: (arrived, response) => pages.signOut(arrived, response) } },
  ]
}

class SessionPages {
  readonly #front: Front
  readonly #console: SignedIn

  constructor(front: Front, console: SignedIn) {
    this.#front = front
    this.#console = console
  }

  async signIn(arrived: ArrivedRequest, response: ServerResponse): Promise<void> {
    const { sessions } = this.#console
    const { config } = this.#front.edge.parts
    arrived.trace.action = 'signIn'
    checkPage(arrived, this.#console)
    checkBodyHeaders(arrived)
    const bytes = await readBytes(arrived.message, config)
    const credential = validate(SignIn, readBody({ input: { body: SignIn } }, bytes))
    if ('key' in credential) await this.#countKey(arrived, credential.key)
    const { request_id, address, secure, message } = arrived
    const browser = message.headers['user-agent'] ?? ''
    const earlier = await actorOfCookie(arrived, this.#console)
    const signed = await sessions.signIn(credential, { request_id, address, secure, browser })
    if (!signed) return this.#refuse(arrived)
    if (earlier) await sessions.signOut(earlier, { request_id, address }, publicUrl(arrived, config.server))
    arrived.trace.actor = signed.actor
    setCookie(arrived, signed.secret)
    await this.#describe(arrived, response, 201, signed.actor)
  }

  async show(arrived: ArrivedRequest, response: ServerResponse): Promise<void> {
    const { door } = this.#console
    door.checkHost(arrived)
    if (!door.isOwnPage(arrived)) throw notOurPage()
    const found = await this.#findActor(arrived)
    // Every page of the console requests this first, so being signed out isn't an error here.
    if (!found) return this.#reply(arrived, response, 200, this.#signedOut())
    const actor = await this.#inChosenProject(arrived, found)
    arrived.trace.actor = actor
    await countRequest(this.#front.edge, { arrived, actor })
    await this.#describe(arrived, response, 200, actor)
  }

  async signOut(arrived: ArrivedRequest, response: ServerResponse): Promise<void> {
    arrived.trace.action = 'signOut'
    checkPage(arrived, this.#console)
    const actor = await this.#findActor(arrived)
    const { request_id, address } = arrived
    const back = `${publicUrl(arrived, this.#front.edge.parts.config.server)}/`
    const sign_out_url = actor && (await this.#console.sessions.signOut(actor, { request_id, address }, back))
    forgetCookie(arrived)
    this.#reply(arrived, response, 200, { ...this.#signedOut(), sign_out_url: sign_out_url ?? null })
  }

  #signedOut() {
    return { signed_in: false, version, issuers: this.#console.sessions.issuers() }
  }

  /**
   * Moves the actor to the project that the page names. If the project was deleted, or the person no longer has a role
   * in it, the actor gets another project.
   */
  async #inChosenProject(arrived: ArrivedRequest, actor: Actor): Promise<Actor> {
    try {
      return await inProject(arrived, actor, this.#front.edge.parts.findProject)
    } catch (error) {
      if (error instanceof ApiError) return actor
      throw error
    }
  }

  /** Counts the key's requests, so a key that has reached its rate limit can't open sessions either. */
  async #countKey(arrived: ArrivedRequest, key: string): Promise<void> {
    const { edge } = this.#front
    const actor = isWellFormedKey(key) ? (await edge.keys.verify(sha256(key)))?.actor : undefined
    if (!actor) return this.#refuse(arrived)
    await countRequest(edge, { arrived, actor })
  }

  async #refuse({ address }: ArrivedRequest): Promise<never> {
    await this.#front.steps.failures.count(addressBucket(address))
    throw new ApiError('unauthorized', 'This key or link is invalid or has expired.')
  }

  /** Guessed secrets are counted as failures, like guessed keys. */
  async #findActor(arrived: ArrivedRequest): Promise<Actor | undefined> {
    if (readCookie(arrived) === undefined) return undefined
    const actor = await actorOfCookie(arrived, this.#console)
    if (!actor) await this.#front.steps.failures.count(addressBucket(arrived.address))
    return actor
  }

  /** Replies with the session and with what the console may show. */
  async #describe(arrived: ArrivedRequest, response: ServerResponse, status: number, actor: Actor): Promise<void> {
    const { expires_at, has_factor, ...described } = await this.#console.sessions.describe(actor)
    this.#reply(arrived, response, status, {
      signed_in: true,
      ...described,
      permissions: actor.permissions,
      reach: actor.reach,
      project_id: actor.scope.project_id,
      agent_id: actor.scope.agent_id,
      user_id: actor.scope.user_id,
      mfa: { enrolled: has_factor, required_for: [...(this.#front.edge.service.gate.mfa ?? [])] },
      expires_at: formatTime(expires_at),
      version,
      features: featuresOf(this.#front, actor),
    })
  }

  #reply(arrived: ArrivedRequest, response: ServerResponse, status: number, data: unknown): void {
    this.#front.requests.count(arrived, status)
    send(response, arrived.headers, { status, headers: {}, body: JSON.stringify({ success: true, data }) })
  }
}

export function checkPage(arrived: ArrivedRequest, { door }: SignedIn): void {
  door.checkHost(arrived)
  door.checkSecrecy(arrived)
  if (!door.isOwnPage(arrived)) throw notOurPage()
}

function notOurPage(): ApiError {
  return forbidden('Only the console can call this endpoint.')
}

/** The IDs of the operations that the key may call, and that have a use here. The console shows nothing else. */
function featuresOf({ edge }: Front, actor: Actor): string[] {
  const isUsed = ({ path }: Operation) => edge.applications !== undefined || !path.startsWith(OF_APPLICATIONS)
  return edge.operations.filter((operation) => isUsed(operation) && mayCall(actor, operation)).map(({ id }) => id)
}
