import type { JournalEntry } from '../storage/journal/entry.ts'
import type { Lease } from '../storage/leases/lease.ts'

type More = Partial<Pick<PendingEntry, 'lease' | 'lost' | 'ended'>>

/**
 * What an operation without a transaction has done but not written yet. The caller of the operation writes the entry
 * and then answers. The reply to a request that may be repeated is part of the same commit.
 */
export class PendingEntry {
  readonly entry: JournalEntry
  /**
   * The data of the reply. If it is an error, it is thrown after the entry is written, and is not stored for repeated
   * requests.
   */
  readonly answer: unknown
  /** The lease that the entry ends, on work that is stored. The work goes on elsewhere if the entry is not written. */
  readonly lease: Lease | undefined
  /** The message for the client if the entry's lease was lost. */
  readonly lost: string | undefined
  /** Called when the entry is written, and also when it cannot be written. */
  readonly ended: ((written: boolean) => void) | undefined

  constructor(entry: JournalEntry, answer: unknown, { lease, lost, ended }: More = {}) {
    this.entry = entry
    this.answer = answer
    this.lease = lease
    this.lost = lost
    this.ended = ended
  }
}
