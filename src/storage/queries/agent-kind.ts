import { type RawBuilder, sql } from 'kysely'
import { intactJson } from '../damaged-rows.ts'
import { type Database, engineOf } from '../database.ts'

/** The kind in the definition of an `agents` row. If it is missing or can't be read, it is the first kind. */
export function agentKind<Kind extends string>(db: Database, first: Kind): RawBuilder<Kind> {
  const key = engineOf(db) === 'postgres' ? 'kind' : '$.kind'
  return sql`coalesce(${intactJson(db, sql.ref('definition'))} ->> ${sql.lit(key)}, ${sql.lit(first)})`
}
