import { sql } from 'kysely'
import { countTriggers } from '../queries/count-changes.ts'
import { COUNTED_LISTS } from '../queries/counted-lists.ts'
import { agentSchema } from './agent-schema.ts'
import { columnTypes } from './engine-columns.ts'
import { memorySchema } from './memory-schema.ts'
import type { Migration } from './migration.ts'
import { runSchema } from './run-schema.ts'
import { securitySchema } from './security-schema.ts'
import { serviceSchema } from './service-schema.ts'
import { webhookSchema } from './webhook-schema.ts'

/** Makes every table. The row types stand in `storage/tables/`. */
export const firstSchema: Migration = {
  name: 'first-schema',
  async run(db, engine) {
    const types = columnTypes(engine)
    const subjects = [agentSchema, runSchema, memorySchema, webhookSchema, securitySchema, serviceSchema]
    for (const statement of subjects.flatMap((schema) => schema(types))) await sql.raw(statement).execute(db)
    for (const table of new Set(COUNTED_LISTS.map((list) => list.table))) {
      const lists = COUNTED_LISTS.filter((list) => list.table === table)
      const insertsCounted = table !== 'invocations' && table !== 'logs'
      for (const trigger of countTriggers(engine, lists, { insertsCounted })) await sql.raw(trigger).execute(db)
    }
  },
}
