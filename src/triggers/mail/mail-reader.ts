import { Worker } from 'node:worker_threads'
import { ApiError, unavailable } from '../../errors.ts'
import { FairRoom } from '../../lib/work/fair-room.ts'
import { laneKey } from '../../lib/work/lane-key.ts'
import type { ReadMail } from './mail.ts'
import type { MailAnswer, MailRequest } from './mail-worker.ts'

/** How many messages this node reads at the same time. Projects take turns. */
const AT_ONCE = 2
const WAIT_MS = 10_000
/** Reading 1 MiB takes less than a second. A message can be made to take minutes. */
const READ_MS = 10_000
const IDLE_MS = 30_000
const HEAP = { maxOldGenerationSizeMb: 512 }
const MOST_FILES = 20

type MailBody = { type: string; bytes: Uint8Array }

/**
 * Reads mail in threads, because a message can come from anybody, and can be made to take long. A thread that needs too
 * much time or memory ends.
 */
export class MailReader {
  readonly #places = new FairRoom(AT_ONCE)
  readonly #maxBytes: number
  /** Threads that wait for the next message. */
  readonly #idle = new Map<Worker, NodeJS.Timeout>()

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** Throws `invalid_request` if the body isn't a message. */
  async read({ type, bytes }: MailBody, trigger: { id: string; project_id: string }): Promise<ReadMail> {
    const place = await this.#places.take(laneKey(trigger.project_id, trigger.id), 1, WAIT_MS)
    if (!place) throw unavailable('Too many messages are being read. Send it again.')
    try {
      const answer = await this.#ask({ type, bytes, most_files: MOST_FILES, most_file_bytes: this.#maxBytes })
      if ('problem' in answer) throw new ApiError('invalid_request', answer.problem)
      return answer
    } finally {
      place.release()
    }
  }

  async #ask(request: MailRequest): Promise<MailAnswer> {
    const worker = this.#take()
    const { promise, resolve } = Promise.withResolvers<MailAnswer>()
    let isWhole = false
    const answered = (answer: MailAnswer) => {
      isWhole = true
      resolve(answer)
    }
    const late = setTimeout(() => resolve({ problem: 'Reading the message takes too long.' }), READ_MS)
    const failed = () => resolve({ problem: 'Reading the message needs too much memory.' })
    worker.once('message', answered).once('exit', failed)
    worker.postMessage(request)
    try {
      return await promise
    } finally {
      clearTimeout(late)
      worker.off('message', answered).off('exit', failed)
      if (isWhole) this.#keep(worker)
      else void worker.terminate()
    }
  }

  #take(): Worker {
    const [idle] = this.#idle
    if (!idle) {
      const worker = new Worker(new URL('./mail-worker.ts', import.meta.url), { resourceLimits: HEAP })
      // It also exits then, which is what its caller looks at.
      return worker.on('error', () => {}).once('exit', () => this.#idle.delete(worker))
    }
    const [worker, end] = idle
    clearTimeout(end)
    this.#idle.delete(worker)
    worker.ref()
    return worker
  }

  #keep(worker: Worker): void {
    const end = () => {
      clearTimeout(this.#idle.get(worker))
      this.#idle.delete(worker)
      void worker.terminate()
    }
    this.#idle.set(worker, setTimeout(end, IDLE_MS).unref())
    worker.unref()
  }
}
