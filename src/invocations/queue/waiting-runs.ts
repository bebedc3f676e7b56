import type { Parts } from '../../operation/parts.ts'
import { queueWaitingOfPaused, wakeDue } from './queue-store.ts'

/** The longest time that a timer is set for. */
const MAX_PAUSE_MS = 24 * 3_600_000

/**
 * Puts runs that wait (`status: waiting`) back into the queue: when their time comes, or when their agent is paused.
 */
export class WaitingRuns {
  readonly #parts: Parts
  readonly #onWoken: () => Promise<void>
  #timer: NodeJS.Timeout | undefined
  #isClosed = false

  constructor(parts: Parts, onWoken: () => Promise<void>) {
    this.#parts = parts
    this.#onWoken = onWoken
  }

  /** Queues the runs whose wait is over, and sets a timer for the next one. */
  async wake(): Promise<void> {
    const { storage, now } = this.#parts
    const { woken, next_at } = await wakeDue(storage, now())
    clearTimeout(this.#timer)
    if (next_at !== undefined && !this.#isClosed) {
      const pause = Math.min(Math.max(0, next_at - now()), MAX_PAUSE_MS)
      this.#timer = setTimeout(() => this.tryToWake(), pause).unref()
    }
    if (woken > 0) await this.#onWoken()
  }

  async tryToWake(): Promise<void> {
    await this.wake().catch((err) => this.#parts.log.warn({ err }, 'could not look for runs that wait'))
  }

  /** A pause cancels the agent's runs, also those that wait. Without an id, every paused agent is meant. */
  async wakePaused(agent_id: string | undefined): Promise<void> {
    const { storage, now } = this.#parts
    const woken = await storage.transaction((db) => queueWaitingOfPaused(db, agent_id, now()))
    if (woken > 0) await this.#onWoken()
  }

  close(): void {
    this.#isClosed = true
    clearTimeout(this.#timer)
  }
}
