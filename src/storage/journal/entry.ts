import type { LeaseEnd, Write } from './rows.ts'

/** What one request leaves. It is written as a whole or not at all. */
export type JournalEntry = {
  writes: Write[]
  /**
   * The leases that end with this entry. If another owner has taken one of them, nothing of the entry is written and
   * `commit` returns false.
   */
  endings?: LeaseEnd[]
  /** Its place was set aside with `reserve`, so it is accepted however many entries wait. */
  reserved?: boolean
}
