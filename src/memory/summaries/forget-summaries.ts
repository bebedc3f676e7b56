import { sql } from 'kysely'
import type { Database } from '../../storage/database.ts'
import { listed } from '../memory-filter.ts'

/**
 * Removes the summaries of sessions whose turns are removed or changed, because the summaries may contain their words,
 * and of sessions that have no memories left. Call this in the same transaction, after the counts have changed and
 * before the memories are removed. A transaction that writes a summary has locked the session's counts, so this waits
 * for it.
 */
export async function forgetSummaries(db: Database, seqs: number[]): Promise<void> {
  await sql`
    delete from memory_summaries where (agent_seq, user_id, session_id) in (
      select memories.agent_seq, memories.user_id, memories.session_id
      from ${listed(db, seqs)} as given cross join memories
      where memories.seq = given.seq and (memories.kind = 'turn' or not exists (
        select 1 from memory_scopes where memory_scopes.agent_seq = memories.agent_seq and memory_scopes.level = 2
          and memory_scopes.user_id = memories.user_id and memory_scopes.session_id = memories.session_id)))`.execute(
    db,
  )
}
