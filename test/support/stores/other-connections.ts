import { sql } from 'kysely'
import type { Database } from '../../../src/storage/database.ts'

/**
 * Ends all other connections to this PostgreSQL database. Otherwise, what a killed process had sent before could still
 * be executed, such as the renewal of a lease.
 */
export async function endOtherConnections(db: Database): Promise<void> {
  await sql`select pg_terminate_backend(pid, 10_000) from pg_stat_activity
    where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()`.execute(db)
}
