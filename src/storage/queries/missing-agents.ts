import { sql } from 'kysely'
import type { Database } from '../database.ts'
import type { Tables } from '../tables.ts'

type OfAgents = { [Table in keyof Tables]: Tables[Table] extends { agent_seq: number } ? Table : never }[keyof Tables]

const AT_ONCE = 100

/**
 * Some agents that a table has rows of although they are deleted. It hops through the index from agent to agent,
 * so it costs what there are agents, not rows; the index must begin with `agent_seq`.
 */
export async function missingAgents(db: Database, table: OfAgents): Promise<number[]> {
  const rows = sql.table(table)
  // The outer select tells SQLite's dialect that it reads.
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
    limit ${AT_ONCE}`.execute(db)
  return missing.map(({ agent_seq }) => agent_seq)
}
