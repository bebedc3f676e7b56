import { z } from 'zod'
import { parseIfJson } from '../../../lib/json.ts'
import type { Keyring } from '../../../security/keyring.ts'
import { cookieLine, cookieValues } from '../../input/cookies.ts'
import type { ArrivedRequest } from '../../pipeline/request.ts'

const LIFETIME_SECONDS = 600
const STATE = /^[\w-]{16,200}$/

const Kept = z.object({ state: z.string(), expires_at: z.number(), value: z.unknown() })

type SealNeeds = { keyring: Keyring; now(): number }

/**
 * What the service must remember of a sign-in while the browser is at a provider. The browser keeps it in an encrypted
 * cookie. So no other browser can finish the sign-in, and every node can.
 */
export class StateCookie<Shape extends z.ZodType> {
  readonly #name: string
  readonly #purpose: string
  readonly #shape: Shape

  constructor(name: string, purpose: string, shape: Shape) {
    this.#name = name
    this.#purpose = purpose
    this.#shape = shape
  }

  /** `Lax`, because the browser brings it when the provider sends it back. */
  set(arrived: ArrivedRequest, state: string, value: z.input<Shape>, { keyring, now }: SealNeeds): string {
    const kept = { state, value, expires_at: now() + LIFETIME_SECONDS * 1000 }
    const sealed = keyring.encrypt(JSON.stringify(kept), this.#purpose)
    const name = this.#nameOf(arrived, state)
    return cookieLine(arrived, { name, value: sealed, site: 'Lax', seconds: LIFETIME_SECONDS })
  }

  forget(arrived: ArrivedRequest, state: string): string {
    const name = this.#nameOf(arrived, state.replaceAll(/[^\w-]/g, ''))
    return cookieLine(arrived, { name, value: '', site: 'Lax', seconds: 0 })
  }

  /** The beginnings of the states under which this browser keeps something. `forget` takes them. */
  statesIn(arrived: ArrivedRequest): string[] {
    const start = this.#nameOf(arrived, '')
    const names = (arrived.message.headers.cookie ?? '').split(';').map((pair) => pair.trim().split('=')[0] ?? '')
    return names.filter((name) => name.startsWith(start)).map((name) => name.slice(start.length))
  }

  /** The content of this browser's cookie for the state that the provider has sent back. */
  read(arrived: ArrivedRequest, state: string, { keyring, now }: SealNeeds): z.output<Shape> | undefined {
    if (!STATE.test(state)) return undefined
    const [sealed, ...others] = cookieValues(arrived, this.#nameOf(arrived, state))
    if (sealed === undefined || others.length > 0) return undefined
    try {
      const text = keyring.decrypt(sealed, this.#purpose)
      const kept = Kept.safeParse(parseIfJson(text)).data
      const isCurrent = kept?.state === state && kept.expires_at > now()
      return isCurrent ? this.#shape.safeParse(kept.value).data : undefined
    } catch {
      return undefined
    }
  }

  /** Several tabs may sign in at the same time, so the name has a part of the state. */
  #nameOf({ secure }: ArrivedRequest, state: string): string {
    return `${secure ? '__Host-' : ''}${this.#name}-${state.slice(0, 12)}`
  }
}
