import { sql } from 'kysely'
import { columns } from '../columns.ts'
import type { Migration } from './migration.ts'

/** How much there is to remember of each agent (level 0), each of its users (1) and each of their sessions (2). */
export const memoryScopes: Migration = async (db, engine) => {
  const { text, integer } = columns(engine)

  await db.schema
    .createTable('memory_scopes')
    .addColumn('agent_seq', integer, (column) => column.notNull())
    .addColumn('level', integer, (column) => column.notNull())
    .addColumn('user_id', text, (column) => column.notNull())
    .addColumn('session_id', text, (column) => column.notNull())
    .addColumn('generation', text, (column) => column.notNull())
    .addColumn('turns', integer, (column) => column.notNull())
    .addColumn('notes', integer, (column) => column.notNull())
    .addColumn('turn_terms', integer, (column) => column.notNull())
    .addColumn('note_terms', integer, (column) => column.notNull())
    .addColumn('last_at', integer, (column) => column.notNull())
    .addPrimaryKeyConstraint('memory_scopes_pkey', ['agent_seq', 'level', 'user_id', 'session_id'])
    .execute()

  // What came after a watermark, of one user.
  await db.schema.createIndex('memories_by_user').on('memories').columns(['agent_seq', 'user_id', 'seq']).execute()

  // Statistics are counted now: the first index need not carry what they were read from.
  await db.schema.dropIndex('memories_by_scope').execute()
  await db.schema
    .createIndex('memories_by_session')
    .on('memories')
    .columns(['agent_seq', 'user_id', 'session_id', 'created_at', 'seq'])
    .execute()

  for (const [level, user, session] of [
    [0, `''`, `''`],
    [1, 'user_id', `''`],
    [2, 'user_id', 'session_id'],
  ] as const) {
    await sql`insert into memory_scopes
      (agent_seq, level, user_id, session_id, generation, turns, notes, turn_terms, note_terms, last_at)
      select agent_seq, ${sql.lit(level)}, ${sql.raw(user)}, ${sql.raw(session)}, max(id),
        sum(case kind when 'turn' then 1 else 0 end), sum(case kind when 'turn' then 0 else 1 end),
        sum(case kind when 'turn' then length else 0 end), sum(case kind when 'turn' then 0 else length end),
        max(created_at)
      from memories group by agent_seq, ${sql.raw(level === 0 ? 'agent_seq' : level === 1 ? 'user_id' : 'user_id, session_id')}`.execute(
      db,
    )
  }
}
