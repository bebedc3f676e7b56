import { sql } from 'kysely'
import { type Database, engineOf } from '../database.ts'

/**
 * Until the transaction ends, no other transaction can give this name to a project, or to an agent of the project.
 * Check afterwards whether the name is taken. Without this, the slower of two requests would fail at the unique index.
 * SQLite has one writer at a time and doesn't need this.
 */
export async function holdName(
  db: Database,
  { project_id = '', name }: { project_id?: string; name: string },
): Promise<void> {
  if (engineOf(db) !== 'postgres') return
  await sql`select pg_advisory_xact_lock(hashtextextended(${`name ${project_id}/${name}`}, 0))`.execute(db)
}
