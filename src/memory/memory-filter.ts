import { type RawBuilder, type SqlBool, sql } from 'kysely'
import type { Conversation, MemoryScope } from '../operation/recall.ts'
import { type Database, engineOf } from '../storage/database.ts'

/**
 * The memories that a run may see: all memories of its user, or without a user those of its session. Undefined if it
 * has neither; it then sees nothing. Everything that shows memories to a run must get its scope here.
 */
export function scopeOfRun({ agent_seq, user_id, session_id }: Conversation): MemoryScope | undefined {
  if (user_id !== null) return { agent_seq, user_id }
  return session_id === null ? undefined : { agent_seq, user_id, session_id }
}

/**
 * The condition for the memories of a scope. Every query that reads memories includes it, even if an index found them.
 */
export function inMemoryScope({ agent_seq, user_id, session_id }: MemoryScope): RawBuilder<SqlBool> {
  const conditions = [sql`memories.agent_seq = ${agent_seq}`]
  if (user_id !== undefined) conditions.push(sql`memories.user_id = ${user_id ?? ''}`)
  if (session_id !== undefined) conditions.push(sql`memories.session_id = ${session_id ?? ''}`)
  return sql<SqlBool>`${sql.join(conditions, sql` and `)}`
}

/** The given memories as a table with a column `seq`. */
export function listed(db: Database, seqs: number[]): RawBuilder<{ seq: number }> {
  return engineOf(db) === 'postgres'
    ? sql`(select unnest(${seqs}::bigint[]) as seq)`
    : sql`(select value as seq from json_each(${JSON.stringify(seqs)}))`
}
