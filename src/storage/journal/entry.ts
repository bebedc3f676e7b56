import type { LeaseEnd, Write } from './rows.ts'

/** What one request writes. It is written completely or not at all. */
export type JournalEntry = {
  writes: Write[]
  /**
   * The leases that end with this entry. If another owner has taken one of them, none of the entry is written and
   * `commit` returns false.
   */
  endings?: LeaseEnd[]
  /** Its place was reserved with `reserve`, so it is accepted however many entries wait. */
  reserved?: boolean
}
