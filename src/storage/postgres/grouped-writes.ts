import type { Database } from '../database.ts'
import { isPassing, isUndone } from '../failures.ts'
import { batchOf } from '../journal/batch.ts'
import type { JournalEntry } from '../journal/entry.ts'
import type { Batch, OnCommit } from '../journal/rows.ts'

type PendingWrite = { entry: JournalEntry; resolve: (written: boolean) => void; reject: (error: unknown) => void }

type WriteBatch = (db: Database, batch: Batch) => Promise<boolean>

const BATCH_SIZE = 512
const MAX_TRIES = 5

/** Entries that may be refused have batches of their own. */
export function groupedWrites(write: WriteBatch, onCommit: OnCommit) {
  const [others, refusable] = [groups(write, onCommit), groups(write, onCommit)]
  return (db: Database, entry: JournalEntry) => (entry.mayBeTaken ? refusable : others)(db, entry)
}

/**
 * Group commit. When a batch has been written, everything that waits becomes the next batch, so one commit serves many
 * requests. There is no timer: an idle service commits immediately, and a slow disk results in larger batches.
 */
function groups(write: WriteBatch, onCommit: OnCommit) {
  let queue: PendingWrite[] = []
  let isPumping = false

  const pump = async (db: Database) => {
    while (queue.length > 0) {
      const batch = queue.slice(0, BATCH_SIZE)
      queue = queue.slice(BATCH_SIZE)
      const started = performance.now()
      await flush(db, write, batch)
      onCommit(batch.length, performance.now() - started)
    }
    isPumping = false
  }

  return (db: Database, entry: JournalEntry): Promise<boolean> =>
    new Promise((resolve, reject) => {
      queue.push({ entry, resolve, reject })
      if (isPumping) return
      isPumping = true
      // setImmediate, so that everything else in this pass of the event loop joins the batch.
      setImmediate(() => pump(db))
    })
}

async function flush(db: Database, write: WriteBatch, batch: PendingWrite[], tries = 1): Promise<void> {
  // Splits the batch in halves until the entry that can't be written is alone.
  const flushHalves = async () => {
    const half = Math.ceil(batch.length / 2)
    await flush(db, write, batch.slice(0, half))
    await flush(db, write, batch.slice(half))
  }
  try {
    const written = await write(db, batchOf(batch.map(({ entry }) => entry)))
    // A lease was lost, so nothing was written.
    if (!written && batch.length > 1) return await flushHalves()
    for (const { resolve } of batch) resolve(written)
  } catch (error) {
    // Two nodes locked the same rows, and PostgreSQL rolled back this transaction, so it is retried.
    if (isUndone(error) && tries < MAX_TRIES) return flush(db, write, batch, tries + 1)
    // One bad entry must not make the others fail.
    if (batch.length > 1 && !isPassing(error)) await flushHalves()
    else for (const { reject } of batch) reject(error)
  }
}
