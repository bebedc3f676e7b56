import type { Database } from '../database.ts'
import type { NewClaim } from '../leases/claims.ts'
import type { Ending, Write } from './rows.ts'

/** What one request leaves. It is written as a whole or not at all. */
export type JournalEntry = {
  writes: Write[]
  /**
   * The leases that end with this entry. If another owner has taken one of them, nothing of the entry is written and
   * `commit` returns false.
   */
  endings?: Ending[]
  /**
   * Runs in the same transaction before the rows. If it returns false, nothing of the entry is written and `commit`
   * returns false.
   */
  guard?: (db: Database) => Promise<boolean>
  /**
   * The claim that is written with this entry. If another request has its key, nothing of the entry is written and
   * `commit` returns false.
   */
  claim?: NewClaim
  /** Its place was set aside with `reserve`, so it is accepted however many entries wait. */
  reserved?: boolean
}
