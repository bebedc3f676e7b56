import { setTimeout as delay } from 'node:timers/promises'
import { type Kysely, sql } from 'kysely'
import type { Database, Engine } from '../database.ts'
import { isUndone } from '../failures.ts'
import { firstSchema } from './first-schema.ts'
import type { Migration } from './migration.ts'

/** In order. */
export const MIGRATIONS: readonly Migration[] = [firstSchema]

const LOCK = 7_766_837
/**
 * How long a migration waits for a table that is in use, and how long until it tries again. It does not wait long,
 * because everything else that wants the table waits behind it.
 */
const PATIENCE = { lock_ms: 2_000, again_ms: 1_000 }
const TRIES = 30

/**
 * Brings the schema up to date in one transaction. Nodes that start together wait for each other, and the second one
 * finds nothing to do. Nodes that serve go on meanwhile. A schema that is newer than this program is used as it is,
 * unless one of the migrations that this program does not know breaks older ones.
 */
export async function migrate(
  database: Database,
  engine: Engine,
  migrations: readonly Migration[] = MIGRATIONS,
  { lock_ms, again_ms } = PATIENCE,
): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      return await database.transaction().execute((db) => migrateOnce(db, engine, migrations, lock_ms))
    } catch (error) {
      // A node that reads a table and then writes to it may deadlock with a migration.
      if (!(isLockTimeout(error) || isUndone(error)) || tries === TRIES) throw error
      await delay(again_ms)
    }
  }
}

async function migrateOnce(
  db: Database,
  engine: Engine,
  migrations: readonly Migration[],
  lock_ms: number,
): Promise<void> {
  if (engine === 'postgres') {
    await sql`select pg_advisory_xact_lock(${sql.lit(LOCK)})`.execute(db)
    await sql`set local lock_timeout = ${sql.lit(lock_ms)}`.execute(db)
  }
  await refuseUnreleased(db, engine)
  await sql`create table if not exists migrations (
    name text primary key, breaks integer not null, migrated_at bigint not null)`.execute(db)
  const done = await db.selectFrom('migrations').selectAll().execute()
  const unknown = done.find(({ name, breaks }) => breaks && !migrations.some((known) => known.name === name))
  if (unknown) {
    throw new Error(
      `the database was changed by a newer Moorage ("${unknown.name}"), and this version cannot work with it: start that version, or restore a backup`,
    )
  }
  for (const { name, breaks = false, run } of migrations) {
    if (done.some((earlier) => earlier.name === name)) continue
    await run(db as unknown as Kysely<unknown>, engine)
    await db
      .insertInto('migrations')
      .values({ name, breaks: Number(breaks), migrated_at: Date.now() })
      .execute()
  }
}

/** Stores of the time before the first release had a table `schema_version`. */
async function refuseUnreleased(db: Database, engine: Engine): Promise<void> {
  const found =
    engine === 'postgres'
      ? sql`select 1 where to_regclass('schema_version') is not null`
      : sql`select 1 from sqlite_master where name = 'schema_version'`
  if ((await found.execute(db)).rows.length > 0) throw new Error(UNRELEASED)
}

export const UNRELEASED =
  'the store was made before the first release of Moorage and has to be made anew: move moorage.db away, or name an empty database'

function isLockTimeout(error: unknown): boolean {
  return error instanceof Error && (error as Error & { code?: unknown }).code === '55P03'
}
