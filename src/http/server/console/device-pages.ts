import type { ServerResponse } from 'node:http'
import { z } from 'zod'
import { ApiError, forbidden, invalid, unavailable } from '../../../errors.ts'
import { parseIfJson } from '../../../lib/json.ts'
import { ONE_LINE } from '../../../lib/text/text.ts'
import { addressBucket } from '../../../security/ip-list.ts'
import { IssuerRefusal, IssuerUnavailable, type OidcIssuer } from '../../../security/oidc/oidc-issuer.ts'
import { checkBodyHeaders, readBody, readBytes } from '../../input/body.ts'
import { validate } from '../../input/validate.ts'
import type { SignedIn } from '../../pipeline/edge.ts'
import type { ArrivedRequest } from '../../pipeline/request.ts'
import type { Endpoint } from '../endpoint.ts'
import type { Front } from '../front.ts'
import { send } from '../replies/send.ts'

const PURPOSE = 'console.device'

const Begin = z.strictObject({ issuer: z.string().max(32).optional() })
const Finish = z.strictObject({
  device: z.string().max(10_000),
  name: z.string().min(1).max(200).regex(ONE_LINE),
  project: z.string().max(100).optional(),
})
const Device = z.object({ issuer: z.string(), device_code: z.string() })

/**
 * Signs in a command line: its person signs in with a browser on any device, and the command line gets a key for that
 * person.
 */
export function devicePages(front: Front, console: SignedIn): { method: string; path: string; endpoint: Endpoint }[] {
  const pages = new DevicePages(front, console)
  return [
    { method: 'POST', path: '/console/devices', endpoint: { open: true, page: (...given) => pages.begin(...given) } },
    {
      method: 'POST',
      path: '/console/devices/key',
      endpoint: { open: true, page: (...given) => pages.finish(...given) },
    },
  ]
}

class DevicePages {
  readonly #front: Front
  readonly #console: SignedIn

  constructor(front: Front, console: SignedIn) {
    this.#front = front
    this.#console = console
  }

  async begin(arrived: ArrivedRequest, response: ServerResponse): Promise<void> {
    const { keyring } = this.#front.edge.parts
    // Limits how often a stranger can make us call the provider.
    await this.#front.steps.failures.count(addressBucket(arrived.address))
    const { issuer: name } = await this.#read(arrived, Begin)
    const issuer = this.#choose(name)
    const begun = await this.#asked(arrived, issuer, () => issuer.beginDevice())
    if (!begun)
      throw invalid({
        field: 'issuer',
        error: "this identity provider doesn't support signing in from the command line (device grant); use an API key",
      })
    const { device_code, ...shown } = begun
    const device = keyring.encrypt(JSON.stringify({ issuer: issuer.settings.name, device_code }), PURPOSE)
    this.#reply(arrived, response, 200, { device, issuer: issuer.settings.name, ...shown })
  }

  /**
   * Replies 202 until a person has signed in, then 201 with the key, once. Every request counts, because it is passed
   * on to the provider.
   */
  async finish(arrived: ArrivedRequest, response: ServerResponse): Promise<void> {
    arrived.trace.action = 'signInDevice'
    await this.#front.steps.failures.count(addressBucket(arrived.address))
    const { device, name, project } = await this.#read(arrived, Finish)
    const { issuer, device_code } = this.#open(device)
    const vouched = await this.#asked(arrived, issuer, () => issuer.finishDevice(device_code))
    if (typeof vouched === 'string') return this.#reply(arrived, response, 202, { status: vouched })
    // Creating a key may require a second factor, and a device can only use the provider's.
    if (this.#front.edge.service.gate.mfa?.has('keys') && !vouched.identity.is_strong) {
      throw new ApiError(
        'mfa_required',
        'This requires a second factor at the identity provider, or a key created in the console.',
      )
    }
    const { request_id, address } = arrived
    const made = await this.#console.sessions.signInDevice(vouched, issuer, { request_id, address, name, project })
    if (typeof made === 'string')
      throw new ApiError('forbidden', WHY_NOT[made] ?? "You aren't allowed to sign in here.")
    const { actor, ...key } = made
    arrived.trace.actor = actor
    this.#reply(arrived, response, 201, key)
  }

  async #read<Shape extends z.ZodType>(arrived: ArrivedRequest, body: Shape): Promise<z.output<Shape>> {
    const { config } = this.#front.edge.parts
    if (!config.console.deviceSignIn) {
      throw forbidden('Signing in from the command line is turned off (console.deviceSignIn). Use an API key.')
    }
    this.#console.door.checkSecrecy(arrived)
    checkBodyHeaders(arrived)
    const bytes = await readBytes(arrived.message, config)
    return validate(body, readBody({ input: { body } }, bytes))
  }

  #choose(name: string | undefined): OidcIssuer {
    const all = this.#console.sessions.issuers()
    if (all.length === 0)
      throw new ApiError(
        'not_found',
        "No identity provider is configured, so you can't sign in this way. Use an API key.",
      )
    const names = all.map((one) => one.name).join(', ')
    const wanted = name ?? (all.length === 1 ? all[0]?.name : undefined)
    const issuer = this.#console.sessions.findIssuer(wanted ?? '')
    if (!issuer) throw invalid({ field: 'issuer', error: `must be one of ${names}` })
    return issuer
  }

  #open(sealed: string): { issuer: OidcIssuer; device_code: string } {
    try {
      const text = this.#front.edge.parts.keyring.decrypt(sealed, PURPOSE)
      const { issuer: name, device_code } = Device.parse(parseIfJson(text))
      const issuer = this.#console.sessions.findIssuer(name)
      if (issuer) return { issuer, device_code }
    } catch {
      // The value wasn't sealed by this service.
    }
    throw invalid({ field: 'device', error: 'is not valid; start the sign-in again' })
  }

  async #asked<T>({ request_id }: ArrivedRequest, { settings }: OidcIssuer, ask: () => Promise<T>): Promise<T> {
    try {
      return await ask()
    } catch (error) {
      if (!(error instanceof IssuerRefusal || error instanceof IssuerUnavailable)) throw error
      const { log } = this.#front.edge.parts
      log.warn({ request_id, issuer: settings.name, reason: error.message }, 'signing in from the command line failed')
      if (error instanceof IssuerUnavailable)
        throw unavailable("The identity provider isn't responding. Try again shortly.", 5_000)
      const isDeclined = error.code === 'access_denied'
      throw new ApiError(
        'unauthorized',
        isDeclined ? 'The sign-in was declined.' : 'The sign-in has expired. Start again.',
      )
    }
  }

  #reply(arrived: ArrivedRequest, response: ServerResponse, status: number, data: unknown): void {
    this.#front.requests.count(arrived, status)
    const headers = { 'Cache-Control': 'no-store' }
    send(response, arrived.headers, { status, headers, body: JSON.stringify({ success: true, data }) })
  }
}

const WHY_NOT: Record<string, string> = {
  no_role: "You don't have a role here yet. Ask an administrator for one.",
  other_domain: "Email addresses of your domain aren't allowed to sign in here.",
}
