import { type Kysely, sql } from 'kysely'
import type { Database, Engine } from './database.ts'
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
import { flatLists } from './migrations/0016-flat-lists.ts'
import { places } from './migrations/0017-places.ts'
import { steps } from './migrations/0018-steps.ts'
import type { Migration } from './migrations/migration.ts'

/** In order. A released migration is never edited; changes come as a new one. */
const MIGRATIONS: Migration[] = [
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
]

const LOCK = 7_766_837

/**
 * Brings the schema up to date in one transaction. Nodes that start together wait for each other, and the second one
 * finds nothing to do.
 */
export async function migrate(database: Database, engine: Engine, migrations: Migration[] = MIGRATIONS): Promise<void> {
  await database.transaction().execute(async (transaction) => {
    const db = transaction as unknown as Kysely<{ schema_version: { version: number } }>
    if (engine === 'postgres') await sql`select pg_advisory_xact_lock(${sql.lit(LOCK)})`.execute(db)
    await db.schema
      .createTable('schema_version')
      .ifNotExists()
      .addColumn('version', 'integer', (column) => column.notNull())
      .execute()
    const current = (await db.selectFrom('schema_version').select('version').executeTakeFirst())?.version ?? 0
    if (current > migrations.length) {
      throw new Error(
        `the database has schema version ${current}, this program knows ${migrations.length}: it was used by a newer Moorage. Start that version, or restore a backup`,
      )
    }
    if (current === migrations.length) return
    for (const migration of migrations.slice(current)) await migration(db as unknown as Kysely<unknown>, engine)
    await db.deleteFrom('schema_version').execute()
    await db.insertInto('schema_version').values({ version: migrations.length }).execute()
  })
}
