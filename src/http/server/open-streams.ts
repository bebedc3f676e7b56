import type { ServerResponse } from 'node:http'
import type { Logger } from '../../lib/log.ts'
import type { Storage } from '../../storage/open-storage.ts'
import type { Known } from '../pipeline/stages.ts'

type OpenStream = Known & { response: ServerResponse }

const AGAIN_MS = 1_000

/**
 * Ends the streams of keys that are not valid any more. A stream may last for hours, and its key was checked when it
 * began.
 */
export class OpenStreams {
  readonly #open = new Set<OpenStream>()
  readonly #isStillKnown: (known: Known) => Promise<boolean>
  readonly #log: Logger

  constructor(storage: Pick<Storage, 'onChange'>, isStillKnown: (known: Known) => Promise<boolean>, log: Logger) {
    this.#isStillKnown = isStillKnown
    this.#log = log
    storage.onChange((change, id) => {
      if (change !== 'keys') return
      for (const stream of this.#open) {
        const { id: key_id, scope } = stream.actor
        // The keys of an agent end with the agent, which is announced under the agent's id.
        if (id === undefined || id === key_id || id === scope.agent_id) void this.#check(stream)
      }
    })
  }

  /** Watches the key of a stream until the stream has ended. */
  watch({ arrived, actor }: Known, response: ServerResponse): void {
    if (actor.kind !== 'key') return
    const stream = { arrived, actor, response }
    this.#open.add(stream)
    response.once('close', () => this.#open.delete(stream))
  }

  async #check(stream: OpenStream): Promise<void> {
    try {
      if (!(await this.#isStillKnown(stream))) stream.response.destroy()
    } catch (err) {
      this.#log.warn({ err }, 'the key of an open stream could not be checked, and will be checked again')
      setTimeout(() => this.#open.has(stream) && void this.#check(stream), AGAIN_MS).unref()
    }
  }
}
