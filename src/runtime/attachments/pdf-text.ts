import { Worker } from 'node:worker_threads'
import { SharedRoom } from '../../lib/work/shared-room.ts'
import type { PdfAnswer, PdfRequest } from './pdf-text-worker.ts'

const MOST_PAGES = 2_000
/** What was read by then is shown. */
const READ_MS = 5_000
/** One page can take longer than that. */
const TIMEOUT_MS = 15_000
const WAIT_MS = 60_000
/** Documents that are read at the same time. */
const DOCUMENTS_AT_ONCE = 2
const HEAP = { maxOldGenerationSizeMb: 256 }
/** The heap's limit does not count unpacked streams, and a few bytes can be packed gigabytes. */
const MOST_GROWTH = 400 * 1024 * 1024
const LOOK_AGAIN_MS = 50

/**
 * Reads the texts of PDFs. They come from strangers and may be made to take all time and memory there is, so each is
 * read by a thread of its own that ends with it.
 */
export class PdfTexts {
  readonly #places = new SharedRoom(DOCUMENTS_AT_ONCE)
  readonly #workers = new Set<Worker>()

  async read(bytes: Uint8Array, most_characters: number): Promise<PdfAnswer> {
    if (!(await this.#places.take(1, WAIT_MS))) return { problem: 'too many PDFs are being read' }
    try {
      return await this.#readAlone({ bytes, most_characters, most_pages: MOST_PAGES, most_ms: READ_MS })
    } finally {
      this.#places.give(1)
    }
  }

  async close(): Promise<void> {
    await Promise.all([...this.#workers].map((worker) => worker.terminate()))
  }

  async #readAlone(workerData: PdfRequest): Promise<PdfAnswer> {
    const worker = new Worker(new URL('./pdf-text-worker.ts', import.meta.url), { workerData, resourceLimits: HEAP })
    this.#workers.add(worker)
    const { promise, resolve } = Promise.withResolvers<PdfAnswer>()
    const before = process.memoryUsage.rss()
    const watch = setInterval(() => {
      if (process.memoryUsage.rss() - before > MOST_GROWTH) resolve({ problem: 'it takes too much memory' })
    }, LOOK_AGAIN_MS)
    const late = setTimeout(() => resolve({ problem: 'it takes too long to be read' }), TIMEOUT_MS)
    worker.once('message', resolve)
    worker.once('error', () => resolve({ problem: 'it takes too much memory' }))
    worker.once('exit', () => resolve({ problem: 'it could not be read' }))
    try {
      return await promise
    } finally {
      clearInterval(watch)
      clearTimeout(late)
      await worker.terminate()
      this.#workers.delete(worker)
    }
  }
}
