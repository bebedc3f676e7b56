import type { ServerResponse } from 'node:http'
import { getHeapStatistics } from 'node:v8'
import { type ApiError, unavailable } from '../../../errors.ts'
import { FairRoom, type Portion } from '../../../lib/work/fair-room.ts'
import { laneKey } from '../../../lib/work/lane-key.ts'
import { changes } from '../../../operation.ts'
import type { AuthorizedCall } from '../../pipeline/request.ts'

/** Smaller replies aren't counted. */
export const LARGE_REPLY = 256 * 1024

/** While a reply is made, it takes several times its own size, and other things need memory too. */
const SHARE_OF_HEAP = 1 / 8
const MOST_BYTES = 512 * 1024 * 1024
/** How long a request waits for room before it is refused. */
const PATIENCE_MS = 5_000
const RETRY_AFTER_MS = 2_000

type Asker = Pick<AuthorizedCall, 'actor' | 'operation'>

/**
 * Limits the memory of large replies that are being made and sent. A short request can ask for megabytes, and a client
 * that doesn't read keeps them in memory, so without a limit a few hundred requests could use up all memory.
 */
export class ReplyRoom {
  readonly #bytes = new FairRoom(Math.min(MOST_BYTES, getHeapStatistics().heap_size_limit * SHARE_OF_HEAP))
  readonly #counted = new WeakSet<ServerResponse>()

  /**
   * Reserves room for a reply before its content is read. The room is released when the client has read the reply or
   * has disconnected. Rejects if no room becomes free in time.
   */
  async reserve(response: ServerResponse, { actor }: Asker, bytes: number): Promise<void> {
    if (bytes < LARGE_REPLY) return
    this.#hold(response, await this.#bytes.take(laneOf(actor), bytes, PATIENCE_MS))
  }

  /**
   * Counts a large reply for which nothing was reserved. Rejects if there is no room for it, unless the request has
   * changed something, because the client must then be told.
   */
  async count(response: ServerResponse, { actor, operation }: Asker, body: string): Promise<void> {
    if (this.#counted.has(response)) return
    const [lane, bytes] = [laneOf(actor), Buffer.byteLength(body)]
    this.#hold(response, changes(operation) ? this.#bytes.add(lane, bytes) : await this.#bytes.take(lane, bytes, 0))
  }

  #hold(response: ServerResponse, portion: Portion | undefined): void {
    if (!portion) throw tooMuch()
    this.#counted.add(response)
    if (response.destroyed) portion.release()
    else response.once('close', portion.release)
  }
}

function laneOf({ scope, id }: AuthorizedCall['actor']): string {
  return laneKey(scope.project_id, id)
}

function tooMuch(): ApiError {
  return unavailable(
    'Too many large replies are in progress. Try again shortly, or request smaller pages.',
    RETRY_AFTER_MS,
  )
}
