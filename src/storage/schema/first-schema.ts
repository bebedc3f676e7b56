import { sql } from 'kysely'
import { agentSchema } from './agent-schema.ts'
import { countSchema } from './count-schema.ts'
import { columnTypes } from './engine-columns.ts'
import { memorySchema } from './memory-schema.ts'
import type { Migration } from './migration.ts'
import { runSchema } from './run-schema.ts'
import { securitySchema } from './security-schema.ts'
import { serviceSchema } from './service-schema.ts'
import { sqliteStatistics } from './sqlite-statistics.ts'
import { webhookSchema } from './webhook-schema.ts'

/** Makes every table. The row types stand in `storage/tables/`. */
export const firstSchema: Migration = {
  name: 'first-schema',
  async run(db, engine) {
    const types = columnTypes(engine)
    const subjects = [agentSchema, runSchema, countSchema, memorySchema, webhookSchema, securitySchema, serviceSchema]
    const statements = subjects.flatMap((schema) => schema(types))
    if (engine === 'sqlite') statements.push(...sqliteStatistics())
    for (const statement of statements) await sql.raw(statement).execute(db)
  },
}
