import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'
import { Compared, type Comparison } from '../comparison.ts'
import type { SqliteResult, SqliteStatement } from './sqlite-messages.ts'

const STATEMENTS_KEPT = 500

/** Thrown when a statement should have changed a row of its owner, and another owner has the row. */
export class LostLease extends Error {}

/** Executes statements on one connection. Each text is prepared once. */
export class Executor {
  readonly #connection: DatabaseSync
  readonly #statements = new Map<string, StatementSync>()
  #rolledBackBy: unknown

  constructor(connection: DatabaseSync) {
    this.#connection = connection
  }

  execute({ sql, values, many, mustChange, compare }: SqliteStatement): SqliteResult {
    const statement = this.#prepare(sql)
    if (compare) return compareRows(statement, values as SQLInputValue[], compare)
    if (many) {
      for (const row of values as SQLInputValue[][]) {
        const { changes } = statement.run(...row)
        if (mustChange && Number(changes) === 0) throw new LostLease('a row belongs to another owner')
      }
      return { rows: [], changes: values.length }
    }
    if (statement.columns().length > 0) {
      const rows = statement.all(...(values as SQLInputValue[]))
      return { rows, changes: rows.length }
    }
    return { rows: [], changes: Number(statement.run(...(values as SQLInputValue[])).changes) }
  }

  /**
   * Executes one statement of an open transaction. SQLite may roll back a transaction by itself, for example when the
   * disk is full. Every further statement of that transaction then gets the same error: if it ran, it would be
   * committed alone.
   */
  executeInTransaction(statement: SqliteStatement): SqliteResult {
    if (!this.#connection.isTransaction) {
      throw this.#rolledBackBy ?? new Error(`a transaction is needed for: ${statement.sql}`)
    }
    try {
      return this.execute(statement)
    } catch (error) {
      if (!this.#connection.isTransaction) this.#rolledBackBy = error
      throw error
    }
  }

  /**
   * Executes whole transactions that share one commit. Returns for each the result of its last statement, or the error
   * that undid it.
   */
  transact(transactions: SqliteStatement[][]): (SqliteResult | Error)[] {
    this.#connection.exec('begin immediate')
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
    this.#connection.exec('savepoint member')
    try {
      return this.#executeAll(statements)
    } catch (error) {
      // If SQLite has rolled back by itself (disk full), the other transactions are undone as well.
      if (!this.#connection.isTransaction) throw error
      this.#connection.exec('rollback to member')
      return error as Error
    } finally {
      if (this.#connection.isTransaction) this.#connection.exec('release member')
    }
  }

  #executeAll(statements: SqliteStatement[]): SqliteResult {
    let last: SqliteResult = { rows: [], changes: 0 }
    for (const statement of statements) last = this.execute(statement)
    return last
  }

  #prepare(sql: string): StatementSync {
    const known = this.#statements.get(sql)
    if (known) return known
    const statement = this.#connection.prepare(sql)
    // A run also reports the last rowid, and rowids of full-text indexes can be too large for a number.
    if (statement.columns().length === 0) statement.setReadBigInts(true)
    if (this.#statements.size >= STATEMENTS_KEPT) {
      this.#statements.delete(this.#statements.keys().next().value as string)
    }
    this.#statements.set(sql, statement)
    return statement
  }
}

/** Compares row by row: the vectors of a large scope would fill the thread's memory. */
function compareRows(statement: StatementSync, values: SQLInputValue[], comparison: Comparison): SqliteResult {
  const compared = new Compared(comparison)
  // Arrays cost half of what objects do.
  statement.setReturnArrays(true)
  for (const row of statement.iterate(...values)) {
    const [seq, vector] = row as unknown as [number, Uint8Array]
    compared.add(seq, vector)
  }
  return { rows: [compared.result()], changes: 0 }
}
