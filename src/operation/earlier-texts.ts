import { FairRoom } from '../lib/work/fair-room.ts'

/** How many bytes of earlier invocations one run takes up. No model reads more. */
export const MAX_EARLIER = 2 * 1024 * 1024

/** How many bytes all runs of this process take up together. */
const MAX_TOGETHER = 64 * MAX_EARLIER

export type ReleasableTexts<T> = { value: T; release(): void }

/**
 * Whose texts they are (`lane-key.ts`), and whether the run has time: its client does not wait for the answer. The signal
 * gives up waiting for room.
 */
type TextReader = { lane: string; isPatient: boolean; signal?: AbortSignal | undefined }

/**
 * The earlier texts that runs are shown. A short request can name much of them, so without limits a few dozen requests
 * could fill the memory of this process.
 */
export class EarlierTexts {
  readonly #bytes = new FairRoom(MAX_TOGETHER)
  /** One run reads them at a time: they are parsed, and the event loop needs its turn between two of them. */
  readonly #readers = new FairRoom(1)
  /** How long a run waits for room while its client waits for the answer. */
  patienceMs = 10_000

  /**
   * Reads texts of at most `MAX_EARLIER` bytes, or one that is larger. What was read counts until it is released, because
   * the run shows it to the model at each step. Undefined if there was no room for it in time.
   */
  async take<T>(
    read: () => Promise<{ value: T; bytes: number }>,
    { lane, isPatient, signal }: TextReader,
  ): Promise<ReleasableTexts<T> | undefined> {
    const ms = isPatient ? Number.POSITIVE_INFINITY : this.patienceMs
    const room = await this.#bytes.take(lane, MAX_EARLIER, ms, signal)
    if (!room) return undefined
    const turn = await this.#readers.take(lane, 1)
    try {
      const { value, bytes } = await read()
      room.keep(bytes)
      return { value, release: room.release }
    } catch (error) {
      room.release()
      throw error
    } finally {
      turn?.release()
    }
  }
}
