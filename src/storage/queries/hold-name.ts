import { sql } from 'kysely'
import { type Database, engineOf } from '../database.ts'

/**
 * Until the transaction ends, no other one gives this name. Ask who has the name after it. Without it, the slower of two
 * would fail at the unique index. SQLite has one writer at a time and needs none of this.
 */
export async function holdName(db: Database, names: 'agents' | 'projects', name: string): Promise<void> {
  if (engineOf(db) !== 'postgres') return
  await sql`select pg_advisory_xact_lock(hashtextextended(${`name of ${names}: ${name}`}, 0))`.execute(db)
}
