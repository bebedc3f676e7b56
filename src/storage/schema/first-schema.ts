import { hash } from 'node:crypto'
import { sql } from 'kysely'
import type { Engine } from '../database.ts'
import { DEFAULT_PROJECT } from '../tables/project-tables.ts'
import { GENESIS } from '../tables/security-tables.ts'
import { TABLES } from '../tables.ts'
import type { Migration } from './migration.ts'
import { sqliteStatistics } from './sqlite-statistics.ts'
import { schemaStatements } from './statements.ts'

/**
 * Makes every table as it is described, and the rows that are always there. Its name tells what it makes, because it
 * changes until the first release: a store that an earlier one made lacks columns which this program reads.
 */
export const firstSchema: Migration = {
  name: `first-schema-${hash('sha256', [...statementsOf('sqlite'), ...statementsOf('postgres')].join('\n')).slice(0, 12)}`,
  async run(db, engine) {
    const statements = statementsOf(engine)
    if (engine === 'sqlite') statements.push(...sqliteStatistics())
    for (const statement of statements) await sql.raw(statement).execute(db)
  },
}

function statementsOf(engine: Engine): string[] {
  return [
    ...schemaStatements(engine, TABLES),
    `insert into projects (id, name, limits, created_at, updated_at) values ('${DEFAULT_PROJECT}', 'default', '{}', 0, 0)`,
    `insert into audit_chain (name, seq, hash) values ('head', 0, '${GENESIS}')`,
  ]
}

/** Whether a store that had these migrations was made by another first schema than this program's. */
export function hasOtherFirstSchema(names: readonly string[]): boolean {
  return names.some((name) => name.startsWith('first-schema') && name !== firstSchema.name)
}
