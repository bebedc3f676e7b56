import type { JournalEntry } from '../storage/journal/entry.ts'
import type { Lease } from '../storage/leases/lease.ts'

/** The result of an operation whose reply is on disk, together with everything else that the operation wrote. */
export const COMMITTED = Symbol('committed')

/**
 * Writes what an operation without a transaction has to write, in one commit with its reply. Resolves with undefined if
 * a lease of the entry was lost; then nothing is written. `lease` is the one that the entry ends, on work that
 * continues elsewhere if the entry isn't written.
 */
export type CommitReply = (
  entry: JournalEntry,
  answer: unknown,
  lease: Lease | undefined,
) => Promise<typeof COMMITTED | undefined>
