import { FairRoom } from '../lib/work/fair-room.ts'

/** How many bytes of earlier invocations one run loads at most. No model reads more. */
export const MAX_EARLIER = 2 * 1024 * 1024

/** How many bytes all runs of this process load together. */
const MAX_TOGETHER = 64 * MAX_EARLIER

export type ReleasableTexts<T> = { value: T; release(): void }

/**
 * The owner of the texts (`lane-key.ts`), and whether the run can wait because its client doesn't wait for the answer.
 * The signal stops waiting for room.
 */
type TextReader = { lane: string; isPatient: boolean; signal?: AbortSignal | undefined }

/**
 * The earlier texts that runs are shown. A short request can refer to a lot of text, so without limits a few dozen
 * requests could fill the memory of this process.
 */
export class EarlierTexts {
  readonly #bytes = new FairRoom(MAX_TOGETHER)
  /** One run reads them at a time: they are parsed, and the event loop needs its turn between two of them. */
  readonly #readers = new FairRoom(1)
  /** How long a run waits for room while its client waits for the answer. */
  patienceMs = 10_000

  /**
   * Reads texts of at most `MAX_EARLIER` bytes, or one larger text. They are counted until released, because the run
   * shows them to the model at each step. Undefined if there was no room for them in time.
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
