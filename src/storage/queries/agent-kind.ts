import { type RawBuilder, sql } from 'kysely'
import { intactJson } from '../damaged-rows.ts'
import { type Database, engineOf } from '../database.ts'

/** The kind in the definition of a row of `agents`. If it has none, or can't be read, it is the first kind. */
export function agentKind<Kind extends string>(db: Database, first: Kind): RawBuilder<Kind> {
  const key = engineOf(db) === 'postgres' ? 'kind' : '$.kind'
  return sql`coalesce(${intactJson(db, sql.ref('definition'))} ->> ${sql.lit(key)}, ${sql.lit(first)})`
}
