import { setTimeout as delay } from 'node:timers/promises'
import { type Kysely, sql } from 'kysely'
import { type Database, type Engine, notifyNodes } from '../database.ts'
import { isUndone } from '../failures.ts'
import { ConsentNeededError, requireConsent } from './consent.ts'
import type { Migration } from './migration.ts'
import type { MigrationWatch } from './migration-watch.ts'
import { firstRelease, isUnreleased, MIGRATIONS, UNRELEASED } from './released-migrations.ts'

const LOCK = 7_766_837
/**
 * How long a migration waits for a table in use, and how long until it tries again. The wait is short because
 * everything else that needs the table waits behind the migration.
 */
const PATIENCE = { lock_ms: 2_000, again_ms: 1_000 }
const TRIES = 30

type MigrateOptions = {
  lock_ms?: number
  again_ms?: number
  watch?: MigrationWatch | undefined
  /** Whether to wait until older nodes may be broken. If not set, the migration fails instead. */
  waitsForConsent?: boolean
  /** Whether a service uses the SQLite store. Only set if this process hasn't locked the store itself. */
  isServed?: (() => boolean) | undefined
}

/**
 * Brings the schema up to date in one transaction. Nodes that start together wait for each other, and the second one
 * finds nothing to do. Serving nodes keep working. A migration that breaks them waits until they have stopped or the
 * operator has agreed, and ends them when it commits. A newer schema is used as it is, unless it contains an unknown
 * migration that breaks this version.
 */
export async function migrate(
  database: Database,
  engine: Engine,
  migrations: readonly Migration[] = MIGRATIONS,
  options: MigrateOptions = {},
): Promise<void> {
  const { lock_ms = PATIENCE.lock_ms, again_ms = PATIENCE.again_ms, watch, waitsForConsent = true } = options
  try {
    for (let tries = 1; ; ) {
      try {
        await database.transaction().execute(async (db) => {
          if (engine === 'postgres') await lockSchema(db, lock_ms, watch)
          await migrateOnce(db, engine, migrations, options)
        })
        return watch?.finish()
      } catch (error) {
        if (error instanceof ConsentNeededError && waitsForConsent) watch?.waitForConsent(error.message)
        // A node that reads a table and then writes to it may deadlock with a migration.
        else if (!(isLockTimeout(error) || isUndone(error)) || tries++ === TRIES) throw error
        await delay(again_ms)
      }
    }
  } finally {
    watch?.end()
  }
}

async function lockSchema(db: Database, lock_ms: number, watch: MigrationWatch | undefined): Promise<void> {
  const { rows } = await sql<{ locked: boolean }>`select pg_try_advisory_xact_lock(${sql.lit(LOCK)}) as locked`.execute(
    db,
  )
  if (!rows[0]?.locked) {
    watch?.waitForMigration()
    await sql`select pg_advisory_xact_lock(${sql.lit(LOCK)})`.execute(db)
  }
  await sql`set local lock_timeout = ${sql.lit(lock_ms)}`.execute(db)
}

async function migrateOnce(
  db: Database,
  engine: Engine,
  migrations: readonly Migration[],
  { watch, isServed }: MigrateOptions,
): Promise<void> {
  await refuseUnreleased(db, engine)
  await sql`create table if not exists migrations (
    name text primary key, breaks integer not null, migrated_at bigint not null)`.execute(db)
  const stranger = await findStranger(db, migrations)
  if (stranger) throw stranger
  const done = (await db.selectFrom('migrations').select('name').execute()).map(({ name }) => name)
  if (isUnreleased(done)) throw new Error(UNRELEASED)
  const ahead = migrations.filter(({ name }) => !done.includes(name))
  // An empty database has no nodes yet.
  if (done.length > 0) await requireConsent(db, ahead, isServed)
  for (const [i, { name, breaks = false, run }] of ahead.entries()) {
    watch?.begin({ name, step: i + 1, steps: ahead.length })
    await run(db as unknown as Kysely<unknown>, engine, (rows_done, rows) => watch?.tellRows(rows_done, rows))
    await db
      .insertInto('migrations')
      .values({ name, breaks: Number(breaks), migrated_at: Date.now() })
      .execute()
  }
  if (ahead.some(({ breaks }) => breaks)) await notifyNodes(db, 'schema')
}

/** Which schema the database has, and the oldest one that this version can bring up to date. */
export async function readSchemaVersions(db: Database): Promise<{ current: string; supported_from: string }> {
  const latest = db.selectFrom('migrations').select('name').orderBy('migrated_at', 'desc').orderBy('name', 'desc')
  const { name } = await latest.limit(1).executeTakeFirstOrThrow()
  return { current: name, supported_from: firstRelease.name }
}

/** The error that names the unknown migration because of which this version can't use the schema. */
export async function findStranger(
  db: Database,
  migrations: readonly Migration[] = MIGRATIONS,
): Promise<Error | undefined> {
  const breaking = await db.selectFrom('migrations').select('name').where('breaks', '=', 1).execute()
  const stranger = breaking.find(({ name }) => !migrations.some((known) => known.name === name))
  return stranger && new Error(newerText(stranger.name))
}

/** Says why a store that a newer version has changed can't be used. */
export function newerText(migration: string): string {
  return `the database was changed by a newer version of Moorage ("${migration}"). Start that version, or restore a backup`
}

/** Refuses stores from before the first release, which have a table `schema_version` and no table `migrations`. */
async function refuseUnreleased(db: Database, engine: Engine): Promise<void> {
  const found =
    engine === 'postgres'
      ? sql`select 1 where to_regclass('schema_version') is not null`
      : sql`select 1 from sqlite_master where name = 'schema_version'`
  if ((await found.execute(db)).rows.length > 0) throw new Error(UNRELEASED)
}

function isLockTimeout(error: unknown): boolean {
  return error instanceof Error && (error as Error & { code?: unknown }).code === '55P03'
}
