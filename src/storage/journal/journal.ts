import { setTimeout as delay } from 'node:timers/promises'
import { isDuplicate, isPassing } from '../failures.ts'
import type { Lease } from '../leases/lease.ts'
import type { Storage } from '../open-storage.ts'
import type { JournalEntry } from './entry.ts'
import type { BulkTable, Write } from './rows.ts'

export type Journal = {
  /** Resolves with true when the entry is on disk, or with false if one of its leases was lost (see `JournalEntry`). */
  commit(entry: JournalEntry): Promise<boolean>
  /** Reserves a place for a later entry. Returns false if no place is left. */
  reserve(): boolean
  /** Gives back a reserved place, whether it was used or not. */
  release(): void
  /** Calls the listener with an entry's rows for this table when they are on disk. */
  onWritten(table: BulkTable, listener: WritesListener): void
  /** How many entries wait for their commit. */
  waiting(): number
  /** Resolves when all entries received so far are committed. */
  drain(): Promise<void>
}

export class BacklogFullError extends Error {}

type WritesListener = (writes: readonly Write[]) => void

/**
 * Collects what runs write, entry by entry. Entries that wait together are committed together. At most `backlog`
 * entries wait.
 */
export function openJournal(storage: Pick<Storage, 'write'>, { backlog }: { backlog: number }): Journal {
  const listeners = new Map<BulkTable, WritesListener>()
  const waiting = new Set<Promise<boolean>>()
  /** The number of reserved places, plus the entries that wait without a reserved place. */
  let reserved = 0
  let unreserved = 0

  const hasRoom = () => reserved + unreserved < backlog
  const tell = (writes: readonly Write[]) => {
    for (const [table, some] of Map.groupBy(writes, ({ into }) => into)) listeners.get(table)?.(some)
  }

  return {
    async commit(entry) {
      if (!entry.reserved) {
        if (!hasRoom()) throw new BacklogFullError('too many writes are waiting')
        unreserved++
      }
      const write = storage.write(entry)
      waiting.add(write)
      try {
        const written = await write
        const heard = written && entry.writes.some(({ into }) => listeners.has(into))
        // The listeners run later, because if one threw here, an entry that is on disk would seem to be lost.
        if (heard) queueMicrotask(() => tell(entry.writes))
        return written
      } finally {
        waiting.delete(write)
        if (!entry.reserved) unreserved--
      }
    },
    reserve() {
      if (!hasRoom()) return false
      reserved++
      return true
    },
    release() {
      reserved--
    },
    onWritten: (table, listener) => listeners.set(table, listener),
    waiting: () => waiting.size,
    async drain() {
      while (waiting.size > 0) await Promise.allSettled(waiting)
    },
  }
}

/** Returns false if one of the entry's rows exists, or may not exist beside another. Then nothing is written. */
export async function commitUnlessTaken(entry: JournalEntry, journal: Pick<Journal, 'commit'>): Promise<boolean> {
  try {
    return await journal.commit({ ...entry, mayBeTaken: true })
  } catch (error) {
    if (isDuplicate(error)) return false
    throw error
  }
}

const COMMIT_AGAIN_MS = 500

/** Leased work. `stored` resolves when its row is on disk, and there is no lease before that. */
export type LeasedWork = { readonly lease: Lease | undefined; readonly stored: Promise<void> }

/**
 * Commits an entry, perhaps together with the one that stores the row of the work. Rejects if that row couldn't be
 * stored. While the database is unavailable and the lease lasts, but for `most_ms` at most, the entry is kept and
 * retried.
 */
export async function commitPatiently(
  entry: JournalEntry,
  work: LeasedWork,
  { journal, now }: { journal: Journal; now: () => number },
  most_ms = Number.POSITIVE_INFINITY,
): Promise<boolean> {
  const latest = now() + most_ms
  for (;;) {
    try {
      const isWritten = await journal.commit(entry)
      await work.stored
      return isWritten
    } catch (error) {
      if (!isPassing(error) || Math.min(work.lease?.until ?? 0, latest) <= now()) throw error
      await delay(COMMIT_AGAIN_MS, undefined, { ref: false })
    }
  }
}
