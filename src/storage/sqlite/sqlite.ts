import {
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely'
import { GroupCommit, type Turn } from './group-commit.ts'
import { openThread, type SqliteWatcher, type Thread } from './sqlite-thread.ts'
import type { SqliteStatement } from './sqlite-worker.ts'

/** Everybody else waits for a transaction that is open. */
const SILENT_MS = 10_000

export type SqliteOptions = SqliteWatcher & {
  path: string
  /** How long a transaction may go without a statement before it is rolled back. */
  silentMs?: number | undefined
}

/** SQLite behind the same asynchronous face as PostgreSQL: a writer thread and a reader thread. */
export function sqliteDialect(options: SqliteOptions): Dialect {
  return {
    createAdapter: () => new ThreadedSqliteAdapter(),
    createDriver: () => sqliteDriver(options),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  }
}

/** Kysely would let one query run at a time, which SQLite itself needs; here the threads see to that. */
class ThreadedSqliteAdapter extends SqliteAdapter {
  override get supportsMultipleConnections(): boolean {
    return true
  }
}

export class SqliteConnection implements DatabaseConnection {
  readonly #reader: Thread
  readonly #group: GroupCommit
  /** Set while this connection's transaction has its turn at the writer. */
  #turn: Turn | undefined

  constructor(reader: Thread, group: GroupCommit) {
    this.#reader = reader
    this.#group = group
  }

  async executeQuery<R>({ sql, parameters, query }: CompiledQuery): Promise<QueryResult<R>> {
    const values = parameters as SqliteStatement['values']
    if (this.#turn) return this.#turn.run<R>(sql, values)
    if (query.kind === 'SelectQueryNode' || (query.kind === 'RawNode' && /^\s*select/i.test(sql))) {
      return this.#reader.run<R>(sql, values)
    }
    const turn = await this.#group.begin()
    try {
      const result = await turn.run<R>(sql, values)
      await turn.end('commit')
      return result
    } catch (error) {
      await turn.end('rollback')
      throw error
    }
  }

  /** A statement, perhaps run for many rows, in one message to the writer. Only inside a transaction. */
  async execute({ sql, values, many }: SqliteStatement): Promise<void> {
    if (!this.#turn) throw new Error(`a transaction is needed for: ${sql}`)
    await this.#turn.run(sql, values, many)
  }

  /** A whole transaction in one message. Only outside of one. */
  executeTransaction(statements: SqliteStatement[]): Promise<void> {
    return this.#group.transact(statements)
  }

  async begin(): Promise<void> {
    this.#turn = await this.#group.begin()
  }

  async end(outcome: 'commit' | 'rollback'): Promise<void> {
    const turn = this.#turn
    this.#turn = undefined
    await turn?.end(outcome)
  }

  // oxlint-disable-next-line require-yield
  async *streamQuery<R>(): AsyncIterableIterator<QueryResult<R>> {
    throw new Error('streaming is not used: read pages')
  }
}

function sqliteDriver({ path, silentMs = SILENT_MS, ...watcher }: SqliteOptions): Driver {
  const writer = openThread({ path, role: 'writer' }, watcher)
  const reader = openThread({ path, role: 'reader' }, watcher)
  const group = new GroupCommit(writer, silentMs)
  const own = (connection: DatabaseConnection) => connection as SqliteConnection
  return {
    async init() {},
    acquireConnection: async () => new SqliteConnection(reader, group),
    beginTransaction: (connection) => own(connection).begin(),
    commitTransaction: (connection) => own(connection).end('commit'),
    rollbackTransaction: (connection) => own(connection).end('rollback'),
    async releaseConnection() {},
    async destroy() {
      await Promise.all([writer.close(), reader.close()])
    },
  }
}
