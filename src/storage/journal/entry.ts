import type { LeaseEnd, Write } from './rows.ts'

/** What one request writes. Either all of it is written or nothing. */
export type JournalEntry = {
  writes: Write[]
  /**
   * The leases that end with this entry. If another owner has taken one of them, nothing of the entry is written and
   * `commit` returns false.
   */
  endings?: LeaseEnd[]
  /** Set if the entry's place was reserved with `reserve`. It is then accepted no matter how many entries wait. */
  reserved?: boolean
  /**
   * Set if a unique index may refuse one of the rows. The entry doesn't share a batch with other entries, which would
   * have to be written again.
   */
  mayBeTaken?: boolean
}
