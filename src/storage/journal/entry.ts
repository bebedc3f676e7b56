import type { Database } from '../database.ts'
import type { Ending, Write } from './rows.ts'

/** What one request leaves: it is written as a whole or not at all. */
export type JournalEntry = {
  writes: Write[]
  /** The leases that end with it. If one was lost to another owner, nothing of this entry is written and `commit` says so. */
  endings?: Ending[]
  /** Runs in the same transaction before the rows; on false nothing of this entry is written and `commit` says so. */
  guard?: (db: Database) => Promise<boolean>
  /** Its place was set aside with `reserve`, so it is taken however many wait. */
  reserved?: boolean
}
