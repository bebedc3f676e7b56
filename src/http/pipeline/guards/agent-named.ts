import { unavailable } from '../../../errors.ts'
import { type BodyLimits, readBytes, UNREAD } from '../../input/body.ts'
import type { ArrivedRequest } from '../request.ts'

/** How many bodies are read at once before their clients have shown a valid token. */
const MOST_AT_ONCE = 32

/** Finds the agent that a request means when its path doesn't name one. */
export class AgentFinder {
  readonly #bodyLimits: BodyLimits
  #reading = 0

  constructor(bodyLimits: BodyLimits) {
    this.#bodyLimits = bodyLimits
  }

  /**
   * Reads the body, which is kept for later. Undefined if it names no agent or can't be read; the request is then
   * refused as if the agent didn't exist.
   */
  async find(arrived: ArrivedRequest): Promise<string | undefined> {
    const { route, params, message } = arrived
    if (!route?.agentIn) return undefined
    const waits = !UNREAD.has(message.method ?? '') && !message.complete
    if (waits && this.#reading >= MOST_AT_ONCE)
      throw unavailable('The service is reading too many request bodies from unknown clients. Try again shortly.')
    if (waits) this.#reading++
    try {
      arrived.bytes ??= Promise.resolve(readBytes(message, this.#bodyLimits))
      return route.agentIn({ params, bytes: await arrived.bytes })
    } catch {
      return undefined
    } finally {
      if (waits) this.#reading--
    }
  }
}
