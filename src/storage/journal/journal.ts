import { isPassing, isUndone } from '../failures.ts'
import type { Storage } from '../open-storage.ts'
import { batchOf, type Rows, rowsOf } from './batch.ts'
import type { JournalEntry } from './entry.ts'

export type Journal = {
  /** Resolves with true once the entry is on disk, or with false if a lease of it was lost: see `JournalEntry`. */
  commit(entry: JournalEntry): Promise<boolean>
  /** Sets aside a place for an entry that will come later. Returns false when no place is left. */
  reserve(): boolean
  /** Gives back a place that was set aside, whether it was used or not. */
  release(): void
  hasRoom(): boolean
  /** The listener is called with rows once they are on disk. */
  onWritten(listener: RowsListener): void
  /** How many entries wait for their commit. */
  waiting(): number
  /** Resolves when every entry that was handed in before is committed. */
  drain(): Promise<void>
}

export class BacklogFullError extends Error {}

type Waiting = { entry: JournalEntry; resolve: (written: boolean) => void; reject: (error: unknown) => void }

const BATCH_SIZE = 512
const MAX_TRIES = 5

type RowsListener = (rows: Rows) => void

type JournalOptions = {
  backlog: number
  /** Called for each batch, with the number of entries and how long it took. */
  onBatch?: (entries: number, ms: number) => void
}

/**
 * Group commit. When the writer is free, everything that waits is written in one transaction, so that one fsync serves
 * many requests. There is no timer: an idle service commits at once, and a slow disk makes larger batches.
 */
export function openJournal(storage: Storage, { backlog, onBatch }: JournalOptions): Journal {
  const listeners: RowsListener[] = []
  let queue: Waiting[] = []
  let inBatch = 0
  /** How many places are set aside, plus the entries that wait without one. */
  let reserved = 0
  let unreserved = 0
  let running: Promise<void> | undefined

  const pump = async () => {
    while (queue.length > 0) {
      const batch = queue.slice(0, BATCH_SIZE)
      queue = queue.slice(BATCH_SIZE)
      inBatch = batch.length
      for (const { entry } of batch) if (!entry.reserved) unreserved--
      const started = performance.now()
      await flush(storage, batch, tell)
      onBatch?.(batch.length, performance.now() - started)
      inBatch = 0
    }
    running = undefined
  }

  const tell = (rows: Rows) => {
    for (const listener of listeners) listener(rows)
  }
  const hasRoom = () => reserved + unreserved < backlog

  return {
    commit(entry) {
      if (!entry.reserved) {
        if (!hasRoom()) return Promise.reject(new BacklogFullError('too many writes are waiting'))
        unreserved++
      }
      return new Promise((resolve, reject) => {
        queue.push({ entry, resolve, reject })
        // setImmediate, so that everything else that arrives in this pass of the event loop joins the batch.
        running ??= new Promise<void>((done) => setImmediate(done)).then(pump)
      })
    },
    reserve() {
      if (!hasRoom()) return false
      reserved++
      return true
    },
    release() {
      reserved--
    },
    hasRoom,
    onWritten: (listener) => listeners.push(listener),
    waiting: () => queue.length + inBatch,
    async drain() {
      while (running) await running
    },
  }
}

/** Calls `tell` with the rows once they are on disk. */
async function flush(storage: Storage, batch: Waiting[], tell: RowsListener, tries = 1): Promise<void> {
  // Splits the batch in halves until the entry that cannot be written is alone.
  const flushHalves = async () => {
    const half = Math.ceil(batch.length / 2)
    await flush(storage, batch.slice(0, half), tell)
    await flush(storage, batch.slice(half), tell)
  }
  try {
    const entries = batch.map(({ entry }) => entry)
    const rows = rowsOf(entries)
    const written = await storage.write(batchOf(rows, entries))
    // A lease was lost, so nothing was written.
    if (!written && batch.length > 1) return await flushHalves()
    for (const { resolve } of batch) resolve(written)
    // Called later: if the listener threw here, entries that are on disk would be written again.
    if (written) queueMicrotask(() => tell(rows))
  } catch (error) {
    // Two nodes locked the same rows and PostgreSQL rolled back this transaction. It is tried again.
    if (isUndone(error) && tries < MAX_TRIES) return flush(storage, batch, tell, tries + 1)
    // One bad entry must not fail the others.
    if (batch.length > 1 && !isPassing(error)) await flushHalves()
    else for (const { reject } of batch) reject(error)
  }
}
