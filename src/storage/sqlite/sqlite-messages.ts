import type { SQLInputValue } from 'node:sqlite'
import type { Comparison } from '../comparison.ts'

/** One connection in its own thread, so that a slow disk or a long scan never delays the thread that answers HTTP. */
export type SqliteWorkerData = {
  path: string
  role: 'writer' | 'reader'
  /** Two IDs that the threads share. Requests after the first ID and up to the second were cancelled. */
  takenBack: Float64Array
}

export type SqliteStatement = {
  sql: string
  /** One set of values; with `many`, one set for each run of the statement. */
  values: SQLInputValue[] | SQLInputValue[][]
  many?: boolean
  /** Whether each run must change a row. If it doesn't, the statement fails, because another owner has the row. */
  mustChange?: boolean
  /**
   * Set if the rows are memories with their vectors. The thread compares them and returns a single row with the result
   * in `compared`.
   */
  compare?: Comparison
}

/**
 * What a thread is asked to do: a read, the next statements of an open transaction, whole transactions that share one
 * commit, or emptying the log into the file.
 */
export type SqliteWork =
  | SqliteStatement
  | { statements: SqliteStatement[] }
  | { transactions: SqliteStatement[][] }
  | { emptyLog: true }
export type SqliteRequest = { id: number } & SqliteWork

/** Each row contains one value per column. */
export type SqliteResult = { columns: string[]; rows: unknown[][]; changes: number }
export type SqliteFailure = { error: { message: string; errcode: number | undefined; lostLease: boolean } }

export type SqliteReply =
  | { id: number; outcome: SqliteResult | SqliteFailure }
  | { id: number; outcomes: (SqliteResult | SqliteFailure)[] }
  | { changedElsewhere: true }
  /** The first message. From now on, requests are answered. */
  | { opened: true }
