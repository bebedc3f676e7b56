import { sql } from 'kysely'
import type { Migration } from './migration.ts'

/** Invocations that came through another door than the API are found by it. Those of the API cost nothing there. */
export const otherDoors: Migration = async (db) => {
  await sql`create index invocations_by_door on invocations (door, id, agent_seq, status) where door <> 'api'`.execute(
    db,
  )
}
