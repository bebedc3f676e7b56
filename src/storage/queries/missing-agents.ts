import { sql } from 'kysely'
import type { Database } from '../database.ts'
import type { TableName, Tables } from '../tables.ts'
import { removeRows } from './remove-rows.ts'

type OfAgents = { [Table in TableName]: Tables[Table] extends { agent_seq: number } ? Table : never }[TableName]

const AGENTS_PER_LOOK = 100

/**
 * Some deleted agents that still have rows in a table. The query jumps through the index from agent to agent, so its
 * cost depends on the number of agents and not of rows. The index must start with `agent_seq`.
 */
export async function missingAgents(db: Database, table: OfAgents): Promise<number[]> {
  const rows = sql.table(table)
  // The outer select tells Kysely's SQLite dialect that this is a read.
  const { rows: missing } = await sql<{ agent_seq: number }>`
    select agent_seq from (
      with recursive present(agent_seq) as (
        select min(agent_seq) from ${rows}
        union all
        select (select min(agent_seq) from ${rows} where agent_seq > present.agent_seq)
        from present where present.agent_seq is not null
      )
      select agent_seq from present
    ) as present
    where agent_seq is not null and not exists (select 1 from agents where seq = present.agent_seq)
    limit ${AGENTS_PER_LOOK}`.execute(db)
  return missing.map(({ agent_seq }) => agent_seq)
}

/** Removes at most `limit` rows of deleted agents. Returns how many. */
export async function removeRowsOfMissingAgents(db: Database, table: OfAgents, limit: number): Promise<number> {
  const agents = await missingAgents(db, table)
  if (agents.length === 0) return 0
  return removeRows(db, table, { which: sql`agent_seq in (${sql.join(agents)})`, limit })
}
