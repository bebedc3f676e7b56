import { type RawBuilder, sql } from 'kysely'
import { intactJson } from '../damaged-rows.ts'
import { type Database, engineOf } from '../database.ts'

/** A limit of the joined `projects` row. Null if the project has none. */
export function projectLimit(db: Database, name: 'concurrent_runs' | 'retention_days'): RawBuilder<number | null> {
  const limits = intactJson(db, sql`projects.limits`)
  return engineOf(db) === 'postgres'
    ? sql`(${limits} ->> ${sql.lit(name)})::bigint`
    : sql`${limits} ->> ${sql.lit(`$.${name}`)}`
}
