import type { ServerResponse } from 'node:http'
import type { Parts } from '../../operation/parts.ts'
import type { IdentifiedRequest } from '../pipeline/request.ts'

type OpenStream = IdentifiedRequest & { response: ServerResponse; until: number }

const LOOK_MS = 1_000

/**
 * Ends the streams of keys, tokens and console sessions that are not valid any more, or whose agent has moved. A stream may last for hours, and
 * its key was checked before its body arrived.
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
        // The keys of an agent end with the agent, which is announced under the agent's id, as is its move.
        const subjects = [undefined, key_id, console_session, scope.agent_id, stream.arrived.trace.agent_id]
        if (subjects.includes(id)) void this.#check(stream)
      }
    })
  }

  /** Watches the key of a stream until the stream has ended. Most end before the first look. */
  watch({ arrived, actor }: IdentifiedRequest, response: ServerResponse): void {
    const stream = { arrived, actor, response, until: 0 }
    this.#open.add(stream)
    response.once('close', () => this.#open.delete(stream))
    this.#looking ??= setInterval(() => this.#look(), LOOK_MS).unref()
  }

  /** Checks the streams whose time is over. One timer serves them all, and stops when none is open. */
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
