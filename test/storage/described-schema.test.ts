import assert from 'node:assert/strict'
import { rm } from 'node:fs/promises'
import { describe, test } from 'node:test'
import { sql } from 'kysely'
import type { Database, Engine } from '../../src/storage/database.ts'
import { openStorage } from '../../src/storage/open-storage.ts'
import { text } from '../../src/storage/schema/column.ts'
import { Table } from '../../src/storage/schema/described-table.ts'
import type { Migration } from '../../src/storage/schema/migration.ts'
import { MIGRATIONS } from '../../src/storage/schema/released-migrations.ts'
import { sqliteStatistics } from '../../src/storage/schema/sqlite-statistics.ts'
import { schemaStatements } from '../../src/storage/schema/statements.ts'
import { TABLES } from '../../src/storage/tables.ts'
import { ENGINES } from '../support/service/service.ts'
import { freshPostgres, freshSqlite } from '../support/stores/fresh-store.ts'
import { testPostgres } from '../support/stores/postgres.ts'
import { storeFolder } from '../support/stores/store-folder.ts'
import { storedSchema } from '../support/stores/stored-schema.ts'

/** The schema of a store that these migrations have made. With `released`, they come after the released ones. */
async function schemaAfter(
  engine: Engine,
  { released, added }: { released: boolean; added: readonly Migration[] },
): Promise<string[]> {
  const data = await storeFolder('test')
  const database = engine === 'postgres' ? await (released ? freshPostgres() : testPostgres()) : undefined
  if (engine === 'sqlite' && released) await freshSqlite(data)
  const migrations = released ? [...MIGRATIONS, ...added] : added
  const storage = await openStorage({ data, database: { url: database?.url, poolSize: 1 }, migrations })
  try {
    return await storedSchema(storage.db)
  } finally {
    await storage.close()
    await database?.drop()
    await rm(data, { recursive: true })
  }
}

function makes(tables: Readonly<Record<string, Table>>): Migration {
  return migration(async (db, engine) => {
    const statistics = engine === 'sqlite' ? sqliteStatistics() : []
    for (const statement of [...schemaStatements(engine, tables), ...statistics]) await sql.raw(statement).execute(db)
  })
}

function migration(run: (db: Database, engine: Engine) => Promise<void>): Migration {
  return { name: 'planted', run: (db, engine) => run(db as unknown as Database, engine) }
}

function adds(...statements: string[]): Migration {
  return migration(async (db) => {
    for (const statement of statements) await sql.raw(statement).execute(db)
  })
}

// A column and an index that only a later description has. The column is between today's columns.
const { id, ...others } = TABLES.persons.columns
const persons = new Table({ id, nickname: text.default("'none'"), ...others }, TABLES.persons.facts)
const later = {
  ...TABLES,
  persons: persons.indexes({ persons_by_email: '(email)', persons_by_nickname: '(nickname)' }),
}

for (const engine of ENGINES) {
  const type = engine === 'postgres' ? 'text collate "C"' : 'text'
  const column = `alter table persons add column nickname ${type} not null default 'none'`
  const index = 'create index persons_by_nickname on persons (nickname)'

  const describedSchema = (tables: Parameters<typeof makes>[0]) =>
    schemaAfter(engine, { released: false, added: [makes(tables)] })
  const migratedSchema = (...added: Migration[]) => schemaAfter(engine, { released: true, added })

  describe(`the database schema on ${engine}`, () => {
    test('matches the table descriptions after all migrations', async () => {
      const described = await describedSchema(TABLES)
      assert.deepEqual(await migratedSchema(), described)
      assert.ok(described.length > 500, 'read the schema')
    })

    test('matches a changed description after a migration that adds exactly the change', async () => {
      const described = await describedSchema(later)
      assert.deepEqual(await migratedSchema(adds(column, index)), described)

      const wrong = [
        adds(column),
        adds(column.replace("'none'", "''"), index),
        adds(column.replace('not null', ''), index),
        adds(column, index.replace('(nickname)', '(nickname, id)')),
      ]
      for (const each of wrong) assert.notDeepEqual(await migratedSchema(each), described)
    })
  })
}
