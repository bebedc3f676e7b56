import type { ServerResponse } from 'node:http'
import type { Parts } from '../../operation/parts.ts'
import type { IdentifiedRequest } from '../pipeline/request.ts'

type OpenStream = IdentifiedRequest & { response: ServerResponse; until: number }

const LOOK_MS = 1_000

/**
 * Ends the streams of keys, tokens and console sessions that are no longer valid, and streams whose agent has moved. A
 * stream may last for hours, and its key was checked before its body arrived.
 */
export class OpenStreams {
  readonly #open = new Set<OpenStream>()
  readonly #validUntil: (known: IdentifiedRequest) => Promise<number>
  readonly #parts: Pick<Parts, 'log' | 'now'>
  #looking: NodeJS.Timeout | undefined

  constructor(
    parts: Pick<Parts, 'storage' | 'log' | 'now'>,
    validUntil: (known: IdentifiedRequest) => Promise<number>,
  ) {
    this.#validUntil = validUntil
    this.#parts = parts
    parts.storage.onChange((change, id) => {
      if (change !== 'keys' && change !== 'agents') return
      for (const stream of this.#open) {
        const { id: key_id, scope, console_session } = stream.actor
        // An agent's keys end with the agent. Both that and a move are announced with the agent's ID.
        const subjects = [undefined, key_id, console_session, scope.agent_id, stream.arrived.trace.agent_id]
        if (subjects.includes(id)) void this.#check(stream)
      }
    })
  }

  /** Watches a stream's key until the stream has ended. Most streams end before the first check. */
  watch({ arrived, actor }: IdentifiedRequest, response: ServerResponse): void {
    const stream = { arrived, actor, response, until: 0 }
    this.#open.add(stream)
    response.once('close', () => this.#open.delete(stream))
    this.#looking ??= setInterval(() => this.#look(), LOOK_MS).unref()
  }

  /**
   * Checks the streams whose validity must be confirmed. One timer serves them all, and stops when no stream is open.
   */
  #look(): void {
    const time = this.#parts.now()
    for (const stream of this.#open) if (stream.until <= time) void this.#check(stream)
    if (this.#open.size > 0) return
    clearInterval(this.#looking)
    this.#looking = undefined
  }

  async #check(stream: OpenStream): Promise<void> {
    try {
      stream.until = await this.#validUntil(stream)
      if (stream.until <= this.#parts.now()) stream.response.destroy()
    } catch (err) {
      this.#parts.log.warn({ err }, 'could not check the key of an open stream; it will be checked again')
      stream.until = 0
    }
  }
}
