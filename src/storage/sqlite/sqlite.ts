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
import { openThread, type SqliteWatcher, type Thread } from './sqlite-thread.ts'
import type { SqliteStatement } from './sqlite-worker.ts'

/** As many transactions as one commit may carry; more wait for the next. */
const GROUP_SIZE = 512

/**
 * SQLite behind the same asynchronous face as PostgreSQL: a writer thread and a reader thread. Transactions that wait
 * while the writer is busy share its next commit, so one fsync serves them all; each is a savepoint of the group.
 */
export function sqliteDialect(path: string, watcher: SqliteWatcher): Dialect {
  return {
    createAdapter: () => new ThreadedSqliteAdapter(),
    createDriver: () => sqliteDriver(path, watcher),
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
  readonly #writer: Thread
  readonly #reader: Thread
  readonly #group: Group
  /** Set while this connection's transaction has its turn. */
  turn: Turn | undefined

  constructor(writer: Thread, reader: Thread, group: Group) {
    this.#writer = writer
    this.#reader = reader
    this.#group = group
  }

  async executeQuery<R>({ sql, parameters, query }: CompiledQuery): Promise<QueryResult<R>> {
    const values = parameters as SqliteStatement['values']
    if (this.turn) return this.#writer.run<R>(sql, values)
    if (query.kind === 'SelectQueryNode' || (query.kind === 'RawNode' && /^\s*select/i.test(sql))) {
      return this.#reader.run<R>(sql, values)
    }
    await this.begin()
    try {
      const result = await this.#writer.run<R>(sql, values)
      await this.end('commit')
      return result
    } catch (error) {
      await this.end('rollback')
      throw error
    }
  }

  /** A statement, perhaps run for many rows, in one message to the writer. Only inside a transaction. */
  async execute({ sql, values, many }: SqliteStatement): Promise<void> {
    if (!this.turn) throw new Error(`a transaction is needed for: ${sql}`)
    await this.#writer.run(sql, values, many)
  }

  /** A whole transaction in one message. Only outside of one. */
  executeTransaction(statements: SqliteStatement[]): Promise<void> {
    return this.#group.transact(statements)
  }

  async begin(): Promise<void> {
    this.turn = await this.#group.join()
  }

  async end(outcome: 'commit' | 'rollback'): Promise<void> {
    const turn = this.turn
    this.turn = undefined
    await turn?.end(outcome)
  }

  // oxlint-disable-next-line require-yield
  async *streamQuery<R>(): AsyncIterableIterator<QueryResult<R>> {
    throw new Error('streaming is not used: read pages')
  }
}

function sqliteDriver(path: string, watcher: SqliteWatcher): Driver {
  const writer = openThread({ path, role: 'writer' }, watcher)
  const reader = openThread({ path, role: 'reader' }, watcher)
  const group = groupCommit(writer)
  const own = (connection: DatabaseConnection) => connection as SqliteConnection
  return {
    async init() {},
    acquireConnection: async () => new SqliteConnection(writer, reader, group),
    beginTransaction: (connection) => own(connection).begin(),
    commitTransaction: (connection) => own(connection).end('commit'),
    rollbackTransaction: (connection) => own(connection).end('rollback'),
    async releaseConnection() {},
    async destroy() {
      await Promise.all([writer.close(), reader.close()])
    },
  }
}

/** One transaction's place in a group. */
type Turn = {
  /** Resolves when the whole group is on disk. */
  end(outcome: 'commit' | 'rollback'): Promise<void>
}

type Group = {
  join(): Promise<Turn>
  /** Statements that are known beforehand: alone in their group they are one message, with others a turn like any. */
  transact(statements: SqliteStatement[]): Promise<void>
}

type Member = {
  start: (turn: Turn) => void
  refuse: (error: unknown) => void
  known?: { statements: SqliteStatement[]; done: () => void }
}

function groupCommit(writer: Thread): Group {
  const waiting: Member[] = []
  let pumping = false

  const pump = async () => {
    while (waiting.length > 0) await commitGroup(writer, waiting.splice(0, GROUP_SIZE))
    pumping = false
  }

  const enter = (member: Member) => {
    waiting.push(member)
    if (pumping) return
    pumping = true
    // The rest of this turn of the event loop may join the same group.
    queueMicrotask(pump)
  }

  return {
    join: () => new Promise((start, refuse) => enter({ start, refuse })),
    transact: (statements) =>
      new Promise((done, refuse) => {
        const start = async (turn: Turn) => {
          try {
            for (const { sql, values, many } of statements) await writer.run(sql, values, many)
            await turn.end('commit')
            done()
          } catch (error) {
            await turn.end('rollback').catch(() => {})
            refuse(error)
          }
        }
        enter({ start, refuse, known: { statements, done } })
      }),
  }
}

async function commitGroup(writer: Thread, members: Member[]): Promise<void> {
  const [first, ...rest] = members as [Member, ...Member[]]
  if (first.known && rest.length === 0) {
    await writer.transact(first.known.statements).then(first.known.done, first.refuse)
    return
  }
  try {
    await writer.run('begin immediate')
  } catch (error) {
    for (const member of members) member.refuse(error)
    return
  }
  const group = Promise.withResolvers<void>()
  group.promise.catch(() => {})
  let outcome: 'commit' | 'rollback' = 'commit'
  try {
    if (rest.length === 0) outcome = await takeTurn(first, group.promise)
    else for (const member of members) await takeTurnInSavepoint(writer, member, group.promise)
    await writer.run(outcome)
    group.resolve()
  } catch (error) {
    // Fails when SQLite has rolled back by itself (disk full): then there is nothing left to undo.
    await writer.run('rollback').catch(() => {})
    group.reject(error)
    // Whoever had no turn yet will not get one.
    for (const member of members) member.refuse(error)
  }
}

function takeTurn(member: Member, committed: Promise<void>): Promise<'commit' | 'rollback'> {
  return new Promise((resolve) => {
    member.start({
      end(outcome) {
        resolve(outcome)
        // Whoever gave up has its reason already; how the others fare is no news to it.
        return outcome === 'commit' ? committed : committed.catch(() => {})
      },
    })
  })
}

async function takeTurnInSavepoint(writer: Thread, member: Member, committed: Promise<void>): Promise<void> {
  await writer.run('savepoint member').catch((error) => {
    member.refuse(error)
    throw error
  })
  if ((await takeTurn(member, committed)) === 'rollback') await writer.run('rollback to member')
  await writer.run('release member')
}
