import type { ServerResponse } from 'node:http'
import { ApiError } from '../../../errors.ts'
import { addressBucket } from '../../../security/ip-list.ts'
import { checkBodyHeaders, readBytes } from '../../input/body.ts'
import type { ConnectedApplications } from '../../pipeline/edge.ts'
import type { ArrivedRequest } from '../../pipeline/request.ts'
import type { Front } from '../front.ts'
import { SCOPE } from '../protected-resource.ts'
import { send } from '../replies/send.ts'

const FORM_TYPE = /^application\/x-www-form-urlencoded\s*(?:;|$)/i
const MAX_FORM_BYTES = 16 * 1024
const OF_ANY_TYPE = { operation: { input: { upload: true } } } as const
/** How often an application can get tokens. Each exchange leaves a used refresh token in the store until it expires. */
const EXCHANGES = { perMinute: 2, burst: 20 }
/** RFC 7636. */
const VERIFIER = /^[A-Za-z0-9._~-]{43,128}$/

/** A refusal in the form of RFC 6749. */
class OAuthRefusal extends Error {
  readonly error: string

  constructor(error: string, reason: string) {
    super(reason)
    this.error = error
  }
}

/** `/oauth/token` and `/oauth/revoke`. Clients have no secret; a code belongs to its verifier. */
export class TokenEndpoint {
  readonly #front: Front
  readonly #applications: ConnectedApplications

  constructor(front: Front, applications: ConnectedApplications) {
    this.#front = front
    this.#applications = applications
  }

  give(arrived: ArrivedRequest, response: ServerResponse): Promise<void> {
    arrived.trace.action = 'issueToken'
    return this.#answer(arrived, response, async (form) => {
      const grant = required(form, 'grant_type')
      const granted = await this.#grant(grant, form, arrived)
      if (!('error' in granted)) {
        const { access_token, refresh_token, expires_in } = granted
        return { access_token, token_type: 'Bearer', expires_in, refresh_token, scope: SCOPE }
      }
      // Limits how often one IP address can guess. Applications that have ended may ask a few times more.
      if (granted.isUnknown) await this.#front.steps.failures.count(`oauth:${addressBucket(arrived.address)}`)
      throw new OAuthRefusal(granted.error, granted.reason)
    })
  }

  revoke(arrived: ArrivedRequest, response: ServerResponse): Promise<void> {
    arrived.trace.action = 'revokeToken'
    return this.#answer(arrived, response, async (form) => {
      await this.#applications.revoke(required(form, 'token'), required(form, 'client_id'), arrived)
      return {}
    })
  }

  async #grant(grant: string, form: URLSearchParams, { request_id, address }: ArrivedRequest) {
    const origin = { request_id, address }
    const client_id = required(form, 'client_id')
    const resource = form.get('resource') ?? undefined
    if (grant === 'refresh_token') {
      const refresh_token = required(form, 'refresh_token')
      await this.#countExchange('refresh', refresh_token)
      return this.#applications.refresh({ refresh_token, client_id, resource }, origin)
    }
    if (grant !== 'authorization_code')
      throw new OAuthRefusal('unsupported_grant_type', 'Use authorization_code or refresh_token.')
    const code_verifier = required(form, 'code_verifier')
    if (!VERIFIER.test(code_verifier)) throw new OAuthRefusal('invalid_request', 'The code_verifier is not valid.')
    const [code, redirect_uri] = [required(form, 'code'), required(form, 'redirect_uri')]
    await this.#countExchange('code', code)
    return this.#applications.exchange({ code, client_id, redirect_uri, code_verifier, resource }, origin)
  }

  /** Refuses an exchange too many before the code or token is spent. */
  async #countExchange(kind: 'code' | 'refresh', secret: string): Promise<void> {
    const application = await this.#applications.findBySecret(kind, secret)
    if (application === undefined) return
    const { allowed, retry_after_ms } = await this.#front.edge.parts.limiter.take(`oauth:${application}`, EXCHANGES)
    if (allowed) return
    const retry_after = Math.max(1, Math.ceil(retry_after_ms / 1000))
    throw new ApiError('rate_limited', `This application asks for tokens too often. Try again in ${retry_after} s.`, {
      retry_after,
    })
  }

  async #answer(
    arrived: ArrivedRequest,
    response: ServerResponse,
    work: (form: URLSearchParams) => Promise<object>,
  ): Promise<void> {
    try {
      this.#reply(arrived, response, 200, await work(await this.#readForm(arrived)))
    } catch (error) {
      if (!(error instanceof OAuthRefusal)) throw error
      this.#reply(arrived, response, 400, { error: error.error, error_description: error.message })
    }
  }

  async #readForm({ message }: ArrivedRequest): Promise<URLSearchParams> {
    const { config } = this.#front.edge.parts
    checkBodyHeaders({ message, route: OF_ANY_TYPE })
    if (!FORM_TYPE.test(message.headers['content-type'] ?? ''))
      throw new ApiError('unsupported_media_type', 'Send the parameters as application/x-www-form-urlencoded.')
    const bytes = await readBytes(message, { ...config, limits: { body: MAX_FORM_BYTES } })
    const form = new URLSearchParams(bytes?.toString('utf8') ?? '')
    const names = [...form.keys()]
    const repeated = names.find((name, index) => names.indexOf(name) !== index)
    if (repeated !== undefined) throw new OAuthRefusal('invalid_request', 'A parameter appears more than once.')
    return form
  }

  #reply(arrived: ArrivedRequest, response: ServerResponse, status: number, body: object): void {
    this.#front.requests.count(arrived, status)
    send(response, arrived.headers, { status, headers: { 'Cache-Control': 'no-store' }, body: JSON.stringify(body) })
  }
}

function required(form: URLSearchParams, name: string): string {
  const value = form.get(name)
  if (value === null || value === '') throw new OAuthRefusal('invalid_request', `The parameter ${name} is missing.`)
  return value
}
