import { setTimeout as delay } from 'node:timers/promises'
import { isPassing } from '../failures.ts'
import type { Lease } from '../leases/lease.ts'
import type { JournalEntry } from './entry.ts'
import type { Journal } from './journal.ts'

const COMMIT_AGAIN_MS = 500

/** How long a client without an `Idempotency-Key` waits for the database. It can't get the answer with another request. */
const BRIEFLY_MS = 2_000

type CommitParts = { journal: Journal; now: () => number }

/** Commits an entry. While the database is unavailable and the lease lasts, the entry is kept and retried. */
export async function commitPatiently(
  entry: JournalEntry,
  lease: Lease | undefined,
  { journal, now }: CommitParts,
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

/** The same, but not longer than the client of the run should wait. A connection that broke is replaced by then. */
export function commitBriefly(entry: JournalEntry, lease: Lease | undefined, parts: CommitParts): Promise<boolean> {
  const until = parts.now() + BRIEFLY_MS
  return commitPatiently(entry, lease && { ...lease, until: Math.min(lease.until, until) }, parts)
}
