import { setTimeout } from 'node:timers/promises'
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
import type { Compare, ComparisonResult } from '../comparison.ts'
import type { JournalEntry } from '../journal/entry.ts'
import type { OnCommit } from '../journal/rows.ts'
import { GroupCommit, type SqliteTransaction } from './group-commit.ts'
import { ReaderPool } from './reader-pool.ts'
import type { SqliteStatement } from './sqlite-messages.ts'
import { SqliteThread, type SqliteWatcher } from './sqlite-thread.ts'

/** The limit for idle open transactions, because all other writers wait for them. */
const SILENT_MS = 10_000
const EMPTY_AGAIN_MS = 50

export type SqliteOptions = SqliteWatcher & {
  path: string
  /** How long a transaction can be open without a statement before it is rolled back. */
  silentMs?: number | undefined
  /** How long a read can take. */
  readTimeout: number
  onCommit: OnCommit
}

/** SQLite with the same asynchronous interface as PostgreSQL: a thread that writes, and a few that read. */
export type Sqlite = {
  dialect: Dialect
  /** Writes an entry of the journal. Returns false if one of its leases was lost; then none of it is written. */
  write(db: unknown, entry: JournalEntry): Promise<boolean>
  /** Removes everything from the files that was erased before. Returns false if reads in progress prevented it. */
  emptyLog(): Promise<boolean>
  /** Compares the vectors that a select finds, in a reading thread. */
  compare: Compare
  /** The state of the reading threads. */
  readers(): { busy: number; idle: number; waiting: number }
}

export function openSqlite({ path, silentMs = SILENT_MS, readTimeout, onCommit, ...watcher }: SqliteOptions): Sqlite {
  const writer = new SqliteThread({ ...watcher, path, role: 'writer' })
  const readers = new ReaderPool({ ...watcher, path, readTimeout })
  const group = new GroupCommit(writer, silentMs, onCommit)
  const driver: Driver = {
    async init() {},
    acquireConnection: async () => new SqliteConnection(readers, group),
    beginTransaction: (connection) => own(connection).begin(),
    commitTransaction: (connection) => own(connection).end('commit'),
    rollbackTransaction: (connection) => own(connection).end('rollback'),
    async releaseConnection() {},
    async destroy() {
      await Promise.all([writer.close(), readers.close()])
    },
  }
  return {
    dialect: {
      createAdapter: () => new ThreadedSqliteAdapter(),
      createDriver: () => driver,
      createIntrospector: (db) => new SqliteIntrospector(db),
      createQueryCompiler: () => new SqliteQueryCompiler(),
    },
    readers: () => readers.state(),
    write: (_db, entry) => group.write(entry),
    async emptyLog() {
      // A read that takes longer than this is ended.
      const deadline = performance.now() + readTimeout + EMPTY_AGAIN_MS
      while (performance.now() < deadline) {
        if (await group.emptyLog()) return true
        await setTimeout(EMPTY_AGAIN_MS)
      }
      return false
    },
    async compare({ sql, parameters }, compare) {
      const values = parameters as SqliteStatement['values']
      const { rows } = await readers.run<{ compared: ComparisonResult }>({ sql, values, compare })
      return (rows[0] as { compared: ComparisonResult }).compared
    },
  }
}

function own(connection: DatabaseConnection): SqliteConnection {
  return connection as SqliteConnection
}

/** For SQLite, Kysely would run only one query at a time. Here the threads take care of that. */
class ThreadedSqliteAdapter extends SqliteAdapter {
  override get supportsMultipleConnections(): boolean {
    return true
  }
}

export class SqliteConnection implements DatabaseConnection {
  readonly #readers: ReaderPool
  readonly #group: GroupCommit
  #transaction: SqliteTransaction | undefined

  constructor(readers: ReaderPool, group: GroupCommit) {
    this.#readers = readers
    this.#group = group
  }

  async executeQuery<R>({ sql, parameters, query }: CompiledQuery): Promise<QueryResult<R>> {
    const statement = { sql, values: parameters as SqliteStatement['values'] }
    if (this.#transaction) return this.#transaction.run<R>([statement])
    if (query.kind === 'SelectQueryNode' || (query.kind === 'RawNode' && /^\s*select/i.test(sql))) {
      return this.#readers.run<R>(statement)
    }
    return this.#group.transact<R>([statement])
  }

  /** Sends statements, possibly for many rows, to the writer in one message. Use this only inside a transaction. */
  async execute(statements: SqliteStatement[]): Promise<void> {
    if (!this.#transaction) throw new Error('writing many rows needs a transaction')
    await this.#transaction.run(statements)
  }

  async begin(): Promise<void> {
    this.#transaction = await this.#group.begin()
  }

  async end(outcome: 'commit' | 'rollback'): Promise<void> {
    const transaction = this.#transaction
    this.#transaction = undefined
    await transaction?.end(outcome)
  }

  // oxlint-disable-next-line require-yield
  async *streamQuery<R>(): AsyncIterableIterator<QueryResult<R>> {
    throw new Error('streaming is not used: read pages')
  }
}
