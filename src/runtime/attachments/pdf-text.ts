import { Worker } from 'node:worker_threads'
import { LRUCache } from 'lru-cache'
import { FairRoom } from '../../lib/work/fair-room.ts'
import { groupOf } from '../../lib/work/lane-key.ts'
import type { PdfAnswer, PdfRequest } from './pdf-text-worker.ts'

const MOST_PAGES = 2_000
/** After this time, what has been read so far is shown. */
const READ_MS = 5_000
/** The limit if a single page takes longer than `READ_MS`. */
const TIMEOUT_MS = 15_000
const WAIT_MS = 60_000
/** How many documents are read at the same time. One project gets at most two of these places. */
const DOCUMENTS_AT_ONCE = 3
/** How many characters of text are cached, and for how long. */
const KEPT_CHARACTERS = 16 * 1024 * 1024
const KEPT_MS = 600_000
const HEAP = { maxOldGenerationSizeMb: 256 }
/**
 * The most that the process's memory can grow while a PDF is read. The heap limit doesn't count unpacked streams, and a
 * few bytes can unpack to gigabytes.
 */
const MOST_GROWTH = 400 * 1024 * 1024
const LOOK_AGAIN_MS = 50

/**
 * A run's PDF: its lane (`lane-key.ts`), the hash of its bytes, and a function that reads the bytes when it is the
 * PDF's turn.
 */
export type PdfSource = { lane: string; sha256: string; bytes(): Promise<Uint8Array> }

/**
 * Reads the texts of PDFs. A PDF from a client may be made to use up all time and memory, so each is read in a thread
 * of its own, which ends afterwards. Projects take turns. If several runs need a document at the same time, it is read
 * once.
 */
export class PdfTexts {
  readonly #places = new FairRoom(DOCUMENTS_AT_ONCE)
  readonly #workers = new Set<Worker>()
  readonly #reading = new Map<string, Promise<PdfAnswer | undefined>>()
  readonly #known = new LRUCache<string, Extract<PdfAnswer, { text: string }>>({
    maxSize: KEPT_CHARACTERS,
    sizeCalculation: ({ text }) => text.length + 100,
    ttl: KEPT_MS,
  })

  async read(pdf: PdfSource, most_characters: number): Promise<PdfAnswer> {
    // The cache is per project, because the time that a document takes must not reveal which documents other projects
    // have.
    const id = `${groupOf(pdf.lane)} ${pdf.sha256}`
    const known = this.#known.get(id)
    if (known) return known
    const answer = await (this.#reading.get(id) ?? this.#readFirst(id, pdf, most_characters))
    return answer ?? { problem: 'too many PDFs are being read' }
  }

  /**
   * Only the first caller starts the reading and removes the entry afterwards. By then, another caller may have started
   * over.
   */
  #readFirst(id: string, pdf: PdfSource, most_characters: number): Promise<PdfAnswer | undefined> {
    const reading = this.#readInTurn(pdf, most_characters)
      .then((answer) => {
        // The problem may be temporary: the machine is busy, or other documents use the memory.
        if (answer && 'text' in answer) this.#known.set(id, answer)
        return answer
      })
      .finally(() => this.#reading.delete(id))
    this.#reading.set(id, reading)
    return reading
  }

  /** Undefined if the PDF got no place in time. */
  async #readInTurn({ lane, bytes }: PdfSource, most_characters: number): Promise<PdfAnswer | undefined> {
    const place = await this.#places.take(lane, 1, WAIT_MS)
    if (!place) return undefined
    try {
      const request = { most_characters, most_pages: MOST_PAGES, most_ms: READ_MS }
      return await this.#readAlone({ bytes: await bytes(), ...request })
    } finally {
      place.release()
    }
  }

  async close(): Promise<void> {
    this.#places.close()
    await Promise.all([...this.#workers].map((worker) => worker.terminate()))
  }

  async #readAlone(workerData: PdfRequest): Promise<PdfAnswer> {
    const worker = new Worker(new URL('./pdf-text-worker.ts', import.meta.url), { workerData, resourceLimits: HEAP })
    this.#workers.add(worker)
    const { promise, resolve } = Promise.withResolvers<PdfAnswer>()
    const before = process.memoryUsage.rss()
    const watch = setInterval(() => {
      if (process.memoryUsage.rss() - before > MOST_GROWTH) resolve({ problem: 'reading it needs too much memory' })
    }, LOOK_AGAIN_MS)
    const late = setTimeout(() => resolve({ problem: 'reading it takes too long' }), TIMEOUT_MS)
    worker.once('message', resolve)
    worker.once('error', () => resolve({ problem: 'reading it needs too much memory' }))
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
