import { setTimeout as delay } from 'node:timers/promises'
import { isPassing } from '../failures.ts'
import type { Lease } from '../leases/lease.ts'
import type { JournalEntry } from './entry.ts'
import type { Journal } from './journal.ts'

const COMMIT_AGAIN_MS = 500

/** Commits an entry. While the database is unavailable and the lease lasts, the entry is kept and retried. */
export async function commitPatiently(
  entry: JournalEntry,
  lease: Lease | undefined,
  { journal, now }: { journal: Journal; now: () => number },
): Promise<boolean> {
  for (;;) {
    try {
      return await journal.commit(entry)
    } catch (error) {
      if (!isPassing(error) || lease === undefined || lease.until <= now()) throw error
      await delay(COMMIT_AGAIN_MS, undefined, { ref: false })
    }
  }
}
