import { hash } from 'node:crypto'
import { sql } from 'kysely'
import type { Engine } from '../database.ts'
import { agentSchema } from './agent-schema.ts'
import { countSchema, fileCountSchema } from './count-schema.ts'
import { columnTypes } from './engine-columns.ts'
import { memorySchema } from './memory-schema.ts'
import type { Migration } from './migration.ts'
import { runSchema } from './run-schema.ts'
import { securitySchema } from './security-schema.ts'
import { serviceSchema } from './service-schema.ts'
import { sqliteStatistics } from './sqlite-statistics.ts'
import { usageSchema } from './usage-schema.ts'
import { webhookSchema } from './webhook-schema.ts'

/**
 * Makes every table. The row types stand in `storage/tables/`. Its name tells what it makes, because it changes until the
 * first release: a store that an earlier one made lacks columns which this program reads.
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
  const types = columnTypes(engine)
  const subjects = [
    agentSchema,
    runSchema,
    countSchema,
    usageSchema,
    memorySchema,
    webhookSchema,
    securitySchema,
    serviceSchema,
    fileCountSchema,
  ]
  return subjects.flatMap((schema) => schema(types))
}

/** Whether a store that had these migrations was made by another first schema than this program's. */
export function hasOtherFirstSchema(names: readonly string[]): boolean {
  return names.some((name) => name.startsWith('first-schema') && name !== firstSchema.name)
}
