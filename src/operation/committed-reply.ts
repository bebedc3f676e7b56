import type { JournalEntry } from '../storage/journal/entry.ts'
import type { Lease } from '../storage/leases/lease.ts'

/** What an operation returns whose reply is on disk, together with what the operation left. */
export const COMMITTED = Symbol('committed')

/**
 * Writes what an operation without a transaction leaves, in one commit with its reply. Resolves with undefined if a lease
 * of the entry was lost; then nothing is written. `lease` is the one that the entry ends, on work that goes on elsewhere
 * if the entry is not written.
 */
export type CommitReply = (
  entry: JournalEntry,
  answer: unknown,
  lease: Lease | undefined,
) => Promise<typeof COMMITTED | undefined>
