import { join } from 'node:path'
import { Kysely } from 'kysely'
import { CHANGES, type Change, collectChanges, type Database, type Engine } from './database.ts'
import { migrate } from './migrate.ts'
import { listen, postgresDialect } from './postgres/postgres.ts'
import { privateFolder } from './sqlite/private-folder.ts'
import { sqliteDialect } from './sqlite/sqlite.ts'
import type { Tables } from './tables.ts'

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
        collectChanges(transaction, changes)
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
