import type { Storage } from '../open-storage.ts'
import type { JournalEntry } from './entry.ts'
import type { BulkTable, Write } from './rows.ts'

export type Journal = {
  /** Resolves with true once the entry is on disk, or with false if a lease of it was lost: see `JournalEntry`. */
  commit(entry: JournalEntry): Promise<boolean>
  /** Sets aside a place for an entry that will come later. Returns false when no place is left. */
  reserve(): boolean
  /** Gives back a place that was set aside, whether it was used or not. */
  release(): void
  /** The listener is called with the rows of an entry that go into this table, once they are on disk. */
  onWritten(table: BulkTable, listener: WritesListener): void
  /** How many entries wait for their commit. */
  waiting(): number
  /** Resolves when every entry that was handed in before is committed. */
  drain(): Promise<void>
}

export class BacklogFullError extends Error {}

type WritesListener = (writes: readonly Write[]) => void

/** What runs leave, entry by entry. The storage commits together what waits together. At most `backlog` entries wait. */
export function openJournal(storage: Pick<Storage, 'write'>, { backlog }: { backlog: number }): Journal {
  const listeners = new Map<BulkTable, WritesListener>()
  const waiting = new Set<Promise<boolean>>()
  /** How many places are set aside, plus the entries that wait without one. */
  let reserved = 0
  let unreserved = 0

  const hasRoom = () => reserved + unreserved < backlog
  const tell = (writes: readonly Write[]) => {
    for (const [table, listener] of listeners) {
      const heard = writes.filter(({ into }) => into === table)
      if (heard.length > 0) listener(heard)
    }
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
        // Called later: a listener that threw here would make an entry that is on disk look lost.
        if (written) queueMicrotask(() => tell(entry.writes))
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
