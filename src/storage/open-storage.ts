import { join } from 'node:path'
import { CompiledQuery, type Dialect, Kysely, PostgresDialect } from 'kysely'
import type { Compare } from './comparison.ts'
import { tellLeftOut } from './damaged-rows.ts'
import {
  type Announcement,
  CHANGES,
  type Change,
  collectAnnouncements,
  type Database,
  type Engine,
  readAnnouncement,
} from './database.ts'
import type { JournalEntry } from './journal/entry.ts'
import type { OnCommit } from './journal/rows.ts'
import { listen } from './postgres/change-listener.ts'
import { DatabaseClock } from './postgres/database-clock.ts'
import { groupedWrites } from './postgres/grouped-writes.ts'
import { limitReads } from './postgres/limit-reads.ts'
import { openPool, type PostgresOptions } from './postgres/postgres.ts'
import { PostgresWire } from './postgres/postgres-wire.ts'
import { postgresBatches } from './postgres/postgres-write-batch.ts'
import { TransactionPlaces } from './postgres/transaction-places.ts'
import { VectorThread } from './postgres/vector-thread.ts'
import { findStranger, migrate } from './schema/migrate.ts'
import type { Migration } from './schema/migration.ts'
import type { MigrationWatch } from './schema/migration-watch.ts'
import { MIGRATIONS } from './schema/released-migrations.ts'
import { isServed } from './sqlite/lock.ts'
import { privateFolder, privateStore } from './sqlite/private-files.ts'
import { openSqlite, type SqliteOptions } from './sqlite/sqlite.ts'
import { isDamaged } from './sqlite/sqlite-thread.ts'
import type { Tables } from './tables.ts'

export type Storage = {
  engine: Engine
  db: Database
  /**
   * Commits everything that `work` does, or nothing. Make no network call inside and don't use the outer `db`, because
   * on SQLite every other writer waits until this ends.
   */
  transaction<T>(work: (db: Database) => Promise<T>): Promise<T>
  /**
   * Commits an entry, together with others that wait. Entries are written in the order in which they arrive. Returns
   * false if one of its leases was lost. Then nothing is written.
   */
  write(entry: JournalEntry): Promise<boolean>
  compare: Compare
  /**
   * Removes everything from SQLite's files that was erased before. Returns false if reads in progress prevented it.
   * PostgreSQL manages its own files.
   */
  emptyLog(): Promise<boolean>
  /**
   * Calls the listener when a transaction that announced a change has committed on any node. Without an ID, anything of
   * that kind may have changed.
   */
  onChange(listener: OnChange): void
  /** Carries messages between nodes. Undefined on SQLite, whose store has one service. */
  wire: { publish(message: string): Promise<void>; onMessage(listener: (message: string) => void): void } | undefined
  /** What to add to this node's clock to get the database's clock, which all nodes use. 0 on SQLite. */
  skew(): number
  /** Whether changes that other nodes make are announced here. Otherwise, nothing may be answered from memory. */
  hears(): boolean
  /**
   * The state of the connections to PostgreSQL, or of SQLite's reading threads: how many are busy, how many are idle,
   * and how many requests wait for one.
   */
  pool(): PoolState
  /** Why this store can't serve requests any more: its file is damaged, or its schema is too new. */
  unusable(): string | undefined
  /** Resolves when the store has become unusable and only a new process can help. */
  lost: Promise<Error>
  close(): Promise<void>
}

export type PoolState = { busy: number; idle: number; waiting: number }

type OnChange = (change: Change, id: string | undefined) => void

export type StorageOptions = {
  data: string
  database: {
    url?: string | undefined
    /** PostgreSQL's own URL, if `url` belongs to a pooler that assigns a connection to each transaction. */
    listenUrl?: string | undefined
    poolSize: number
    /** How long a single read may take. */
    readTimeout?: number
    /** How long an open transaction, or a connection to PostgreSQL, can be idle before it is closed. */
    silentMs?: number
    /** How often the connection that listens to PostgreSQL is pinged. */
    pingMs?: number
  }
  /** The migrations that this version knows. */
  migrations?: readonly Migration[] | undefined
  watch?: MigrationWatch | undefined
  /**
   * Whether to wait if a migration would break older nodes, as a service does. The command line fails instead, because
   * the migration would end a service that others use.
   */
  waitsForConsent?: boolean
  warn?(message: string): void
  onCommit?: OnCommit
  /** This node's own clock. */
  clock?(): number
}

const READ_TIMEOUT = 10_000
const DEAF =
  "PostgreSQL does not notify this node of changes, so the node doesn't use its caches. Behind a pooler in transaction mode, set database.listenUrl to PostgreSQL itself"

const FILE = 'moorage.db'

export async function openStorage({
  data,
  database,
  migrations = MIGRATIONS,
  watch,
  waitsForConsent = true,
  warn = () => {},
  onCommit = () => {},
  clock = Date.now,
}: StorageOptions): Promise<Storage> {
  const { url, listenUrl, silentMs, pingMs, readTimeout = READ_TIMEOUT } = database
  const engine: Engine = url ? 'postgres' : 'sqlite'
  const listeners: OnChange[] = []
  const forget = (announcements: Iterable<string>) => {
    for (const announcement of announcements) {
      const { change, id } = readAnnouncement(announcement)
      for (const listener of listeners) listener(change, id)
    }
  }
  const forgetAll = () => forget(CHANGES)

  let unusable: string | undefined
  const lost = Promise.withResolvers<Error>()
  const wire = url ? new PostgresWire() : undefined
  const databaseClock = new DatabaseClock(clock)
  const { dialect, write, compare, emptyLog, pool, begin, close } = url
    ? openPostgres({ ...database, url, readTimeout, onCommit }, () => listenUrl === undefined && storage.hears())
    : openFile({
        path: privateStore(join(privateFolder(data), FILE)),
        silentMs,
        readTimeout,
        onCommit,
        onForeignChange: forgetAll,
        onDamage: () => (unusable ??= 'the database file is damaged'),
        onLost: lost.resolve,
      })
  const db = new Kysely<Tables>({ dialect })
  tellLeftOut(db, warn)
  const storage: Storage = {
    engine,
    db,
    async transaction(work) {
      const announcements = new Set<Announcement>()
      const run = () =>
        db.transaction().execute((transaction) => {
          collectAnnouncements(transaction, announcements)
          return work(transaction)
        })
      const result = await (begin ? begin(run) : run())
      forget(announcements)
      return result
    },
    async write(entry) {
      if (entry.writes.length + (entry.endings?.length ?? 0) === 0) return true
      return write(db, entry)
    },
    compare,
    emptyLog,
    wire: wire && { publish: (message) => wire.publish(db, message), onMessage: wire.onMessage },
    onChange: (listener) => listeners.push(listener),
    skew: url ? () => databaseClock.skew : () => 0,
    pool,
    unusable: () => unusable,
    lost: lost.promise,
    hears: () => listener?.hears() ?? true,
    async close() {
      await listener?.close()
      await close?.()
      await db.destroy()
    },
  }
  listeners.push((change) => {
    if (change !== 'schema') return
    findStranger(db, migrations).then(
      (stranger) => {
        if (!stranger) return
        unusable = stranger.message
        lost.resolve(stranger)
      },
      // An unavailable or empty database has not changed.
      () => {},
    )
  })
  const onChange = (announcement: string) => forget([announcement])
  const onMessage = (part: string) => wire?.hear(part)
  const hearing = { onChange, onMessage, onMissed: forgetAll, onDeaf: () => warn(DEAF), pingMs, clock: databaseClock }
  const listener = url ? listen({ url, listenUrl: listenUrl ?? url, ...hearing }) : undefined
  try {
    const options = { watch, waitsForConsent, isServed: url || waitsForConsent ? undefined : () => isServed(data) }
    await (url ? migratePatiently(url, migrations, options) : migrate(db, engine, migrations, options))
    if (url) await databaseClock.ask((text) => db.executeQuery<{ time: number }>(CompiledQuery.raw(text)))
  } catch (error) {
    await storage.close()
    throw isDamaged(error)
      ? new Error(`${join(data, FILE)} is damaged (${error.message}); restore a backup with \`moorage restore\``, {
          cause: error,
        })
      : error
  }
  return storage
}

type OpenEngine = {
  dialect: Dialect
  write(db: Database, entry: JournalEntry): Promise<boolean>
  compare: Compare
  emptyLog(): Promise<boolean>
  pool(): PoolState
  /** Runs a transaction when a place for it is free. */
  begin?: <T>(run: () => Promise<T>) => Promise<T>
  close?: () => Promise<void>
}

/** `ownsSessions` says whether a connection of the pool always uses the same connection of PostgreSQL. */
function openPostgres(options: PostgresOptions & { onCommit: OnCommit }, ownsSessions: () => boolean): OpenEngine {
  const pool = openPool(options)
  const places = new TransactionPlaces(options.poolSize)
  const vectors = new VectorThread(options)
  return {
    dialect: new PostgresDialect({ pool: limitReads(pool, { ...options, ownsSessions }) }),
    write: groupedWrites(postgresBatches(pool, ownsSessions), options.onCommit),
    compare: (select, comparison) => vectors.compare(select, comparison),
    emptyLog: async () => true,
    pool: () => ({
      busy: pool.totalCount - pool.idleCount,
      idle: pool.idleCount,
      waiting: pool.waitingCount + places.waiting,
    }),
    begin: (run) => places.run(run),
    close: () => vectors.close(),
  }
}

function openFile(options: SqliteOptions): OpenEngine {
  const { readers, ...sqlite } = openSqlite(options)
  return { ...sqlite, pool: readers }
}

/** A migration, or the wait for another node's migration, can take longer than any other statement. */
async function migratePatiently(
  url: string,
  migrations: readonly Migration[],
  options: Parameters<typeof migrate>[3],
): Promise<void> {
  const { dialect } = openPostgres({ url, poolSize: 1, silentMs: 0, readTimeout: 0, onCommit() {} }, () => false)
  const db = new Kysely<Tables>({ dialect })
  try {
    await migrate(db, 'postgres', migrations, options)
  } finally {
    await db.destroy()
  }
}
