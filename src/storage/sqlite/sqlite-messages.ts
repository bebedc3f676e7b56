import type { SQLInputValue } from 'node:sqlite'
import type { Comparison } from '../comparison.ts'

/** One connection in its own thread, so that a slow disk or a long scan never delays the thread that answers HTTP. */
export type SqliteWorkerData = {
  path: string
  role: 'writer' | 'reader'
  /** Two IDs, shared between the threads. Requests after the first ID and up to the second were cancelled. */
  takenBack: Float64Array
}

export type SqliteStatement = {
  sql: string
  /** One set of values; with `many`, one set for each run of the statement. */
  values: SQLInputValue[] | SQLInputValue[][]
  many?: boolean
  /** Each run must change a row. Otherwise the statement fails, because another owner has the row. */
  mustChange?: boolean
  /**
   * The rows are memories and their vectors. They are compared in the thread, and the only row has the result in
   * `compared`.
   */
  compare?: Comparison
}

/**
 * A read; the next statements of an open transaction; whole transactions that share one commit; or a request to empty
 * the log into the file.
 */
export type SqliteWork =
  | SqliteStatement
  | { statements: SqliteStatement[] }
  | { transactions: SqliteStatement[][] }
  | { emptyLog: true }
export type SqliteRequest = { id: number } & SqliteWork

/** Each row has one value for each column. */
export type SqliteResult = { columns: string[]; rows: unknown[][]; changes: number }
export type SqliteFailure = { error: { message: string; errcode: number | undefined; lostLease: boolean } }

export type SqliteReply =
  | { id: number; outcome: SqliteResult | SqliteFailure }
  | { id: number; outcomes: (SqliteResult | SqliteFailure)[] }
  | { changedElsewhere: true }
  /** The first message: from now on requests are answered. */
  | { opened: true }
