import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'
import { type Comparison, VectorComparison } from '../comparison.ts'
import type { SqliteResult, SqliteStatement } from './sqlite-messages.ts'

const STATEMENTS_KEPT = 500
/** Opens a transaction. No other process can write until it ends. */
export const BEGIN = 'begin immediate'
const SAVEPOINT: SqliteStatement = { sql: 'savepoint member', values: [] }
const ROLLBACK_TO: SqliteStatement = { sql: 'rollback to member', values: [] }
const RELEASE: SqliteStatement = { sql: 'release member', values: [] }
const NO_ROWS = { columns: [], rows: [] }
const NOTHING: SqliteResult = { ...NO_ROWS, changes: 0 }

/** Thrown when a statement should have changed its owner's row, but another owner has the row. */
export class LostLease extends Error {}

/** A prepared statement, and the names of the columns that it returns. */
type PreparedStatement = { statement: StatementSync; columns: string[] }

/** Executes statements on one connection. Each text is prepared once. */
export class Executor {
  readonly #connection: DatabaseSync
  readonly #statements = new Map<string, PreparedStatement>()
  #endedBy: unknown

  constructor(connection: DatabaseSync) {
    this.#connection = connection
  }

  execute({ sql, values, many, mustChange, compare }: SqliteStatement): SqliteResult {
    const { statement, columns } = this.#prepare(sql)
    if (compare) return compareRows(statement, values as SQLInputValue[], compare)
    if (many) {
      for (const row of values as SQLInputValue[][]) {
        const { changes } = statement.run(...row)
        if (mustChange && Number(changes) === 0) throw new LostLease('a row belongs to another owner')
      }
      return { ...NO_ROWS, changes: values.length }
    }
    if (columns.length > 0) {
      const rows = statement.all(...(values as SQLInputValue[])) as unknown as unknown[][]
      return { columns, rows, changes: rows.length }
    }
    return { ...NO_ROWS, changes: Number(statement.run(...(values as SQLInputValue[])).changes) }
  }

  /** Executes the next statements of an open transaction; the first one may open it. Returns the last one's result. */
  executeInTransaction(statements: SqliteStatement[]): SqliteResult {
    let last: SqliteResult = NOTHING
    for (const statement of statements) last = this.#executeNext(statement)
    return last
  }

  /**
   * SQLite may refuse to begin, or roll back by itself, for example if the disk is full. Every further statement of
   * that transaction then fails with the same error, because it would otherwise be committed by itself.
   */
  #executeNext(statement: SqliteStatement): SqliteResult {
    if (statement.sql === BEGIN) this.#endedBy = undefined
    else if (!this.#connection.isTransaction) {
      throw this.#endedBy ?? new Error(`a transaction is needed for: ${statement.sql}`)
    }
    try {
      return this.execute(statement)
    } catch (error) {
      if (!this.#connection.isTransaction) this.#endedBy = error
      throw error
    }
  }

  /**
   * Executes whole transactions that share one commit. Returns the result of each one's last statement, or the error
   * that undid the transaction.
   */
  transact(transactions: SqliteStatement[][]): (SqliteResult | Error)[] {
    this.#connection.exec(BEGIN)
    try {
      const only = transactions.length === 1 ? transactions[0] : undefined
      const outcomes = only ? [this.#executeAll(only)] : transactions.map((each) => this.#executeInSavepoint(each))
      this.#connection.exec('commit')
      return outcomes
    } catch (error) {
      if (this.#connection.isTransaction) this.#connection.exec('rollback')
      throw error
    }
  }

  #executeInSavepoint(statements: SqliteStatement[]): SqliteResult | Error {
    this.execute(SAVEPOINT)
    try {
      return this.#executeAll(statements)
    } catch (error) {
      // If SQLite has rolled back by itself (disk full), the other transactions are undone as well.
      if (!this.#connection.isTransaction) throw error
      this.execute(ROLLBACK_TO)
      return error as Error
    } finally {
      if (this.#connection.isTransaction) this.execute(RELEASE)
    }
  }

  #executeAll(statements: SqliteStatement[]): SqliteResult {
    let last: SqliteResult = NOTHING
    for (const statement of statements) last = this.execute(statement)
    return last
  }

  #prepare(sql: string): PreparedStatement {
    const known = this.#statements.get(sql)
    if (known) return known
    const statement = this.#connection.prepare(sql)
    const columns = statement.columns().map(({ name }) => name)
    // Arrays cost half as much as objects, both here and on their way to the other thread.
    if (columns.length > 0) statement.setReturnArrays(true)
    // A run also reports the last rowid, and rowids of full-text indexes can be too large for a number.
    else statement.setReadBigInts(true)
    if (this.#statements.size >= STATEMENTS_KEPT) {
      this.#statements.delete(this.#statements.keys().next().value as string)
    }
    const prepared = { statement, columns }
    this.#statements.set(sql, prepared)
    return prepared
  }
}

/** Compares row by row, because the vectors of a large scope would fill the thread's memory. */
function compareRows(statement: StatementSync, values: SQLInputValue[], comparison: Comparison): SqliteResult {
  const compared = new VectorComparison(comparison)
  for (const row of statement.iterate(...values)) {
    const [seq, vector] = row as unknown as [number, Uint8Array]
    compared.add(seq, vector)
  }
  return { columns: ['compared'], rows: [[compared.result()]], changes: 0 }
}
