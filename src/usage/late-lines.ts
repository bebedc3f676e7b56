import { setTimeout as delay } from 'node:timers/promises'
import type { Parts } from '../operation/parts.ts'
import { isPassing } from '../storage/failures.ts'
import type { EndedLine } from './reservation.ts'
import { writeLate } from './reserved-store.ts'
import { lineEnding, lineWrites } from './store.ts'

/** At most this many lines wait for an unavailable database. */
const MOST_WAITING = 10_000
const AGAIN_MS = 500

type LateParts = Pick<Parts, 'journal' | 'log' | 'storage'>

/**
 * Writes lines of the ledger outside of any run. While the database is unavailable, they wait in memory. They don't use
 * `commitPatiently`, which waits only as long as a run's lease.
 */
export class LateLines {
  readonly #parts: LateParts
  readonly #writing = new Set<Promise<unknown>>()
  #waiting = 0
  #closing = false

  constructor(parts: LateParts) {
    this.#parts = parts
  }

  /**
   * Ends a line that was reserved for this owner. It is in the journal before anything that the run writes later, so a
   * client that has its answer finds it counted. Resolves when that is stored, or has to wait for the database.
   */
  async settle(ended: EndedLine, owner: string): Promise<void> {
    const entry = { writes: lineWrites(ended), endings: [lineEnding(ended.line, owner)], reserved: true }
    const settling = this.#parts.journal.commit(entry).catch(() => false)
    this.#writing.add(settling)
    // The commit may have succeeded without a reply, and another node may have given up the line.
    if (!(await settling)) void this.write([ended])
    this.#writing.delete(settling)
  }

  /** Resolves when they are written, or can't be, which is logged. */
  async write(lines: readonly EndedLine[]): Promise<void> {
    if (lines.length === 0) return
    const writing = this.#write(lines)
    this.#writing.add(writing)
    this.#waiting += lines.length
    await writing
    this.#writing.delete(writing)
    this.#waiting -= lines.length
  }

  /** Retries what waits once. */
  async close(): Promise<void> {
    this.#closing = true
    while (this.#writing.size > 0) await Promise.all(this.#writing)
  }

  async #write(lines: readonly EndedLine[]): Promise<void> {
    const { storage, log } = this.#parts
    for (;;) {
      const isLast = this.#closing || this.#waiting > MOST_WAITING
      try {
        return await storage.transaction((db) => writeLate(db, lines))
      } catch (err) {
        if (isLast || !isPassing(err)) {
          log.error({ err, lines: lines.map(told) }, 'usage records could not be written and are lost')
          return
        }
      }
      await delay(AGAIN_MS, undefined, { ref: false })
    }
  }
}

function told({ line }: EndedLine) {
  const { id, project_id, request_id, model, input_tokens, output_tokens, cost_nano } = line
  return { id, project_id, request_id, model, input_tokens, output_tokens, cost_nano }
}
