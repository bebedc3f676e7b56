import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite'
import { parentPort, workerData } from 'node:worker_threads'

/** One connection in a thread of its own: a slow disk or a long scan never holds up the thread that answers HTTP. */
export type SqliteWorkerData = { path: string; role: 'writer' | 'reader' }

export type SqliteStatement = {
  sql: string
  /** One set of values, or with `many` a set for each run of the statement. */
  values: SQLInputValue[] | SQLInputValue[][]
  many?: boolean
  /** Each run must change a row. One that does not fails the statement: the row was lost to another owner. */
  mustChange?: boolean
}

/** A statement, or several that make a transaction; the result is that of the last. */
export type SqliteRequest = { id: number } & (SqliteStatement | { transaction: SqliteStatement[] })

type Result = { rows: Record<string, unknown>[]; changes: number }

export type SqliteReply =
  | { id: number; rows: Record<string, unknown>[]; changes: number }
  | { id: number; error: { message: string; errcode: number | undefined; lostLease: boolean } }
  | { changedElsewhere: true }

const STATEMENTS_KEPT = 500
const BUSY_MS = 10_000
const SQLITE_BUSY = 5
const FOREIGN_CHANGE_CHECK_MS = 250

class LostLease extends Error {}

if (parentPort) serve(parentPort, workerData as SqliteWorkerData)

function serve(port: NonNullable<typeof parentPort>, { path, role }: SqliteWorkerData): void {
  const connection = open(path, role)
  const statements = new Map<string, StatementSync>()

  const prepare = (sql: string): StatementSync => {
    const known = statements.get(sql)
    if (known) return known
    const statement = connection.prepare(sql)
    // A run also reports the last rowid, and full-text indexes have rowids that no number can hold.
    if (statement.columns().length === 0) statement.setReadBigInts(true)
    if (statements.size >= STATEMENTS_KEPT) statements.delete(statements.keys().next().value as string)
    statements.set(sql, statement)
    return statement
  }

  const execute = ({ sql, values, many, mustChange }: SqliteStatement): Result => {
    const statement = prepare(sql)
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

  // SQLite may roll a transaction back by itself (disk full). Whatever still comes for it gets the error that did it:
  // a statement that ran now would be committed alone.
  let rolledBackBy: unknown
  const executeInTransaction = (statement: SqliteStatement): Result => {
    if (!connection.isTransaction) throw rolledBackBy ?? new Error(`a transaction is needed for: ${statement.sql}`)
    try {
      return execute(statement)
    } catch (error) {
      if (!connection.isTransaction) rolledBackBy = error
      throw error
    }
  }

  const executeTransaction = (transaction: SqliteStatement[]): Result => {
    let last: Result = { rows: [], changes: 0 }
    connection.exec('begin immediate')
    try {
      for (const statement of transaction) last = execute(statement)
      connection.exec('commit')
    } catch (error) {
      // SQLite may have rolled back by itself (disk full).
      if (connection.isTransaction) connection.exec('rollback')
      throw error
    }
    return last
  }

  const answer = (request: SqliteRequest): Result => {
    if ('transaction' in request) return executeTransaction(request.transaction)
    if (role === 'reader' || request.sql.startsWith('begin')) return execute(request)
    return executeInTransaction(request)
  }

  port.on('message', (request: SqliteRequest | 'close') => {
    if (request === 'close') {
      stopWatching()
      connection.close()
      port.close()
      return
    }
    let reply: SqliteReply
    try {
      reply = { id: request.id, ...answer(request) }
    } catch (error) {
      const { message, errcode } = error as Error & { errcode?: number }
      reply = { id: request.id, error: { message, errcode, lostLease: error instanceof LostLease } }
    }
    port.postMessage(reply)
  })

  const stopWatching = role === 'writer' ? watchForeignChanges(connection, port) : () => {}
}

/** data_version moves when another process (the command line on this host) commits, never for this connection's own. */
function watchForeignChanges(connection: DatabaseSync, port: NonNullable<typeof parentPort>): () => void {
  const dataVersion = connection.prepare('pragma data_version')
  let version = dataVersion.get()?.data_version
  const look = () => {
    try {
      const current = dataVersion.get()?.data_version
      if (current !== version) port.postMessage({ changedElsewhere: true } satisfies SqliteReply)
      version = current
    } catch {
      // A disk that cannot be read now may be at the next look; requests meet the same error and report it.
    }
  }
  const timer = setInterval(look, FOREIGN_CHANGE_CHECK_MS)
  return () => clearInterval(timer)
}

function open(path: string, role: SqliteWorkerData['role']): DatabaseSync {
  const connection = new DatabaseSync(path, { enableForeignKeyConstraints: true, timeout: BUSY_MS })
  useWal(connection)
  connection.exec('pragma synchronous = full')
  connection.exec('pragma temp_store = memory')
  if (role === 'reader') connection.exec('pragma query_only = on')
  return connection
}

/** SQLite does not wait for a lock to change the mode, and whoever opens a new file at the same time holds one. */
function useWal(connection: DatabaseSync): void {
  const deadline = performance.now() + BUSY_MS
  for (;;) {
    try {
      connection.exec('pragma journal_mode = wal')
      return
    } catch (error) {
      if ((error as { errcode?: number }).errcode !== SQLITE_BUSY || performance.now() > deadline) throw error
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5)
    }
  }
}
