import { SharedRoom } from '../lib/work/shared-room.ts'

/** How many bytes of earlier invocations one run takes up. No model reads more. */
export const MAX_EARLIER = 2 * 1024 * 1024

/** How many bytes all runs of this process take up together. */
const MAX_TOGETHER = 32 * MAX_EARLIER

export type HeldTexts<T> = { value: T; release(): void }

/**
 * The earlier texts that runs are shown. A short request can name much of them, so without limits a few dozen requests
 * could fill the memory of this process.
 */
export class EarlierTexts {
  readonly #bytes = new SharedRoom(MAX_TOGETHER)
  /** One run reads them at a time: they are parsed, and the event loop needs its turn between two of them. */
  readonly #readers = new SharedRoom(1)
  /** How long a run waits for room while its client waits for the answer. */
  patienceMs = 10_000

  /**
   * Reads texts of at most `MAX_EARLIER` bytes, or one that is larger. They count until they are released. Undefined if
   * there was no room for them in time; a run in the background has time.
   */
  async take<T>(
    read: () => Promise<{ value: T; bytes: number }>,
    isPatient: boolean,
  ): Promise<HeldTexts<T> | undefined> {
    const ms = isPatient ? Number.POSITIVE_INFINITY : this.patienceMs
    if (!(await this.#bytes.take(MAX_EARLIER, ms))) return undefined
    let held = MAX_EARLIER
    const release = () => {
      this.#bytes.give(held)
      held = 0
    }
    try {
      const value = await this.#readInTurn(read, (bytes) => {
        const kept = Math.min(bytes, MAX_EARLIER)
        this.#bytes.give(held - kept)
        held = kept
      })
      return { value, release }
    } catch (error) {
      release()
      throw error
    }
  }

  async #readInTurn<T>(read: () => Promise<{ value: T; bytes: number }>, onRead: (bytes: number) => void): Promise<T> {
    await this.#readers.take(1, Number.POSITIVE_INFINITY)
    try {
      const { value, bytes } = await read()
      onRead(bytes)
      return value
    } finally {
      this.#readers.give(1)
    }
  }
}
