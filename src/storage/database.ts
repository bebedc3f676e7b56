import { chmodSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { Kysely, PostgresAdapter, sql } from 'kysely'
import { migrate } from './migrate.ts'
import { listen, notifyChannel, postgresDialect } from './postgres/postgres.ts'
import { sqliteDialect } from './sqlite/sqlite.ts'
import { SqliteError } from './sqlite/sqlite-thread.ts'
import type { Tables } from './tables.ts'

/** The whole database or one transaction of it: a store's functions take either. */
export type Database = Kysely<Tables>

export type Engine = 'sqlite' | 'postgres'

const CHANGES = ['agents', 'keys', 'deployments', 'webhooks', 'deliveries', 'cancellations', 'jobs', 'secrets'] as const

/** What nodes keep in memory and must forget when it changes, or must see to at once. */
export type Change = (typeof CHANGES)[number]

export type Storage = {
  engine: Engine
  db: Database
  /** What must be true together. No network call and no use of `db` inside: on SQLite everybody else waits. */
  transaction<T>(work: (db: Database) => Promise<T>): Promise<T>
  /** Called after the commit of a transaction that announced the change, here or on another node. */
  onChange(forget: (change: Change) => void): void
  /** Says on this node that something changed; the other nodes have heard it from the database. */
  forget(changes: Iterable<Change>): void
  /** Whether changes made on other nodes arrive here. While they do not, nothing may be answered from memory. */
  hears(): boolean
  /** Resolves when the store cannot be used any more and only a new process can help. */
  lost: Promise<Error>
  close(): Promise<void>
}

export type StorageOptions = {
  data: string
  database: {
    url?: string | undefined
    poolSize: number
    /** When an open transaction, or a connection to PostgreSQL, that is silent is given up. */
    silentMs?: number
    /** How often the connection that listens to PostgreSQL is asked whether it lives. */
    pingMs?: number
  }
}

const announced = new WeakMap<Database, Set<Change>>()

export async function openStorage({ data, database }: StorageOptions): Promise<Storage> {
  const { url, silentMs, pingMs } = database
  const engine: Engine = url ? 'postgres' : 'sqlite'
  const listeners: ((change: Change) => void)[] = []
  const forget = (changes: Iterable<Change>) => {
    for (const change of changes) for (const listener of listeners) listener(change)
  }
  const forgetAll = () => forget(CHANGES)

  const lost = Promise.withResolvers<Error>()
  const dialect = url
    ? postgresDialect({ ...database, url })
    : sqliteDialect({
        path: join(privateFolder(data), 'moorage.db'),
        silentMs,
        onForeignChange: forgetAll,
        onLost: lost.resolve,
      })
  const db = new Kysely<Tables>({ dialect })
  const storage: Storage = {
    engine,
    db,
    async transaction(work) {
      const changes = new Set<Change>()
      const result = await db.transaction().execute((transaction) => {
        announced.set(transaction, changes)
        return work(transaction)
      })
      forget(changes)
      return result
    },
    onChange: (listener) => listeners.push(listener),
    forget,
    lost: lost.promise,
    hears: () => listener?.hears() ?? true,
    async close() {
      await listener?.close()
      await db.destroy()
    },
  }
  const onChange = (change: string) => forget([change as Change])
  const listener = url ? listen(url, { onChange, onMissed: forgetAll, pingMs }) : undefined
  try {
    await (url ? migratePatiently(url) : migrate(db, engine))
  } catch (error) {
    await storage.close()
    throw error
  }
  return storage
}

/** A migration, or the wait for another node's, may take longer than any other statement. */
async function migratePatiently(url: string): Promise<void> {
  const db = new Kysely<Tables>({ dialect: postgresDialect({ url, poolSize: 1, silentMs: 0 }) })
  try {
    await migrate(db, 'postgres')
  } finally {
    await db.destroy()
  }
}

/** Makes every node forget what it remembers of this kind, once the transaction commits. */
export async function announce(db: Database, change: Change): Promise<void> {
  const changes = announced.get(db)
  if (!changes) throw new Error(`announce(${change}) needs a transaction`)
  changes.add(change)
  if (engineOf(db) === 'postgres') await sql`select pg_notify(${notifyChannel}, ${change})`.execute(db)
}

export function engineOf(db: Database): Engine {
  return db.getExecutor().adapter instanceof PostgresAdapter ? 'postgres' : 'sqlite'
}

const SQLITE_BUSY = 5
const SQLITE_LOCKED = 6
const SQLITE_IOERR = 10
const SQLITE_FULL = 13
const SQLITE_CANTOPEN = 14
const SQLITE_PASSING = new Set([SQLITE_BUSY, SQLITE_LOCKED, SQLITE_IOERR, SQLITE_FULL, SQLITE_CANTOPEN])
const POSTGRES_PASSING = /^(08|53|57P|25006|40|55P03)/
const SOCKET_PASSING = /^(ECONN|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH)/
/** What the driver itself says, without a code. */
const CONNECTION_PASSING =
  /Connection terminated|is not queryable|timeout exceeded when trying to connect|the database is closed/

/** Whether PostgreSQL undid a transaction because it met another (deadlock, serialization); nothing of it is left. */
export function isUndone(error: unknown): boolean {
  return error instanceof Error && ['40P01', '40001'].includes(String((error as Error & { code?: unknown }).code))
}

/** Whether the database, not the request, is at fault and may come back by itself. */
export function isPassing(error: unknown): boolean {
  if (error instanceof SqliteError) return SQLITE_PASSING.has((error.errcode ?? 0) & 0xff)
  if (!(error instanceof Error)) return false
  const code = (error as Error & { code?: unknown }).code
  if (typeof code === 'string') return POSTGRES_PASSING.test(code) || SOCKET_PASSING.test(code)
  return CONNECTION_PASSING.test(error.message)
}

const FOREIGN_KEY_VIOLATION = '23503'
const UNIQUE_VIOLATION = '23505'

/** Whether another node took away, or took first, what this transaction had found in order; a new try will see it. */
export function isOvertaken(error: unknown): boolean {
  const code = error instanceof Error ? (error as Error & { code?: unknown }).code : undefined
  return code === FOREIGN_KEY_VIOLATION || code === UNIQUE_VIOLATION
}

export function privateFolder(data: string): string {
  mkdirSync(data, { recursive: true, mode: 0o700 })
  chmodSync(data, 0o700)
  return data
}
