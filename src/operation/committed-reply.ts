import type { JournalEntry } from '../storage/journal/entry.ts'
import type { Lease } from '../storage/leases/lease.ts'

/** A reply that is on disk, for a request that may be repeated, together with what its operation left. */
export class CommittedReply {
  /** Undefined for an answer that is an error: those are not stored. */
  readonly reply: unknown

  constructor(reply: unknown) {
    this.reply = reply
  }
}

/**
 * Writes what an operation without a transaction leaves, in one commit with its reply. Resolves with undefined if a lease
 * of the entry was lost; then nothing is written. `lease` is the one that the entry ends, on work that goes on elsewhere
 * if the entry is not written.
 */
export type CommitReply = (
  entry: JournalEntry,
  answer: unknown,
  lease: Lease | undefined,
) => Promise<CommittedReply | undefined>
