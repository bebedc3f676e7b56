import { setTimeout as delay } from 'node:timers/promises'
import { type Kysely, sql } from 'kysely'
import type { Database, Engine } from './database.ts'
import { isUndone } from './failures.ts'
import { foundation } from './migrations/0001-foundation.ts'
import { invocations } from './migrations/0002-invocations.ts'
import { observability } from './migrations/0003-observability.ts'
import { memory } from './migrations/0004-memory.ts'
import { webhooks } from './migrations/0005-webhooks.ts'
import { security } from './migrations/0006-security.ts'
import { queue } from './migrations/0007-queue.ts'
import { secrets } from './migrations/0010-secrets.ts'
import { memoryScopes } from './migrations/0011-memory-scopes.ts'
import { attempts } from './migrations/0012-attempts.ts'
import { memoriesOneByOne } from './migrations/0013-memories-one-by-one.ts'
import { vectorsAsBytes } from './migrations/0015-vectors-as-bytes.ts'
import { places } from './migrations/0017-places.ts'
import { steps } from './migrations/0018-steps.ts'
import { flatLists } from './migrations/0019-flat-lists.ts'
import { approvals } from './migrations/0020-approvals.ts'
import { schedules } from './migrations/0021-schedules.ts'
import { consoleSignIn } from './migrations/0022-console.ts'
import { doors } from './migrations/0023-doors.ts'
import { leanScopes } from './migrations/0025-lean-scopes.ts'
import { summaries } from './migrations/0026-summaries.ts'
import { nodes } from './migrations/0027-nodes.ts'
import { callbacks } from './migrations/0029-callbacks.ts'
import { claimsByRequest } from './migrations/0030-claims-by-request.ts'
import { leanLists } from './migrations/0031-lean-lists.ts'
import { otherDoors } from './migrations/0032-other-doors.ts'
import { flatFilters } from './migrations/0033-flat-filters.ts'
import type { Migration } from './migrations/migration.ts'

/** In order. A released migration is never edited; changes come as a new one. */
export const MIGRATIONS: Migration[] = [
  foundation,
  invocations,
  observability,
  memory,
  webhooks,
  security,
  queue,
  secrets,
  memoryScopes,
  attempts,
  memoriesOneByOne,
  vectorsAsBytes,
  places,
  steps,
  flatLists,
  approvals,
  schedules,
  consoleSignIn,
  doors,
  leanScopes,
  summaries,
  leanLists,
  callbacks,
  claimsByRequest,
  otherDoors,
  nodes,
  flatFilters,
]

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
  migrations: Migration[] = MIGRATIONS,
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

/** `schema_oldest` says how many migrations a program must know to use the schema. */
type Versions = { schema_version: { version: number }; schema_oldest: { version: number } }

async function migrateOnce(
  transaction: Database,
  engine: Engine,
  migrations: Migration[],
  lock_ms: number,
): Promise<void> {
  const db = transaction as unknown as Kysely<Versions>
  if (engine === 'postgres') {
    await sql`select pg_advisory_xact_lock(${sql.lit(LOCK)})`.execute(db)
    await sql`set local lock_timeout = ${sql.lit(lock_ms)}`.execute(db)
  }
  for (const table of ['schema_version', 'schema_oldest'] as const) {
    const version = db.schema.createTable(table).ifNotExists()
    await version.addColumn('version', 'integer', (column) => column.notNull()).execute()
  }
  const current = (await findVersion(db, 'schema_version')) ?? 0
  if (current === migrations.length) return
  if (current > migrations.length) {
    // Older programs did not store `schema_oldest`. Without it, only a program that knows every migration may go on.
    const oldest = (await findVersion(db, 'schema_oldest')) ?? current
    if (oldest <= migrations.length) return
    throw new Error(
      `the database has schema version ${current}, this program knows ${migrations.length}: it was used by a newer Moorage. Programs that know fewer than ${oldest} cannot use it: start that version, or restore a backup`,
    )
  }
  for (const migration of migrations.slice(current)) await migration(db as unknown as Kysely<unknown>, engine)
  await writeVersion(db, 'schema_version', migrations.length)
  await writeVersion(db, 'schema_oldest', migrations.findLastIndex(({ breaks }) => breaks) + 1)
}

async function findVersion(db: Kysely<Versions>, table: keyof Versions): Promise<number | undefined> {
  return (await db.selectFrom(table).select('version').executeTakeFirst())?.version
}

async function writeVersion(db: Kysely<Versions>, table: keyof Versions, version: number): Promise<void> {
  await db.deleteFrom(table).execute()
  await db.insertInto(table).values({ version }).execute()
}

function isLockTimeout(error: unknown): boolean {
  return error instanceof Error && (error as Error & { code?: unknown }).code === '55P03'
}
