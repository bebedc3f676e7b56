import { type RawBuilder, sql } from 'kysely'
import { columns } from '../columns.ts'
import type { Migration } from './migration.ts'

export const memory: Migration = async (db, engine) => {
  const { text, integer, sequence } = columns(engine)

  // No foreign key to agents: it would cost every insert a look-up. What a deleted agent leaves is swept up later.
  await db.schema
    .createTable('memories')
    .addColumn('seq', sequence)
    .addColumn('id', text, (column) => column.notNull())
    .addColumn('agent_seq', integer, (column) => column.notNull())
    .addColumn('kind', text, (column) => column.notNull())
    .addColumn('role', text)
    .addColumn('user_id', text, (column) => column.notNull())
    .addColumn('session_id', text, (column) => column.notNull())
    .addColumn('content', text, (column) => column.notNull())
    .addColumn('metadata', text, (column) => column.notNull())
    .addColumn('terms', text, (column) => column.notNull())
    .addColumn('length', integer, (column) => column.notNull())
    .addColumn('created_at', integer, (column) => column.notNull())
    .execute()
  // Answers history, neighbours and statistics by itself.
  await db.schema
    .createIndex('memories_by_scope')
    .on('memories')
    .columns(['agent_seq', 'user_id', 'session_id', 'created_at', 'seq', 'kind', 'length'])
    .execute()

  await db.schema
    .createTable('memory_vectors')
    .addColumn('memory_seq', integer, (column) => column.primaryKey().references('memories.seq').onDelete('cascade'))
    .addColumn('model', text, (column) => column.notNull())
    .addColumn('vector', text, (column) => column.notNull())
    .execute()

  // Beside its terms, the index has words for a memory's agent, user and session, each with what kind of memory it is.
  const scopeWord = (letter: string, id: RawBuilder<unknown>) =>
    sql`'_' || case kind when 'turn' then 'turn' else 'note' end || ${sql.lit(letter)} || cast(agent_seq as text) || 'x' || ${id}`
  if (engine === 'postgres') {
    const scope = [scopeWord('a', sql`''`), scopeWord('u', sql`user_id`), scopeWord('s', sql`session_id`)]
    await sql`alter table memories add column lexemes tsvector generated always as
      (array_to_tsvector(string_to_array(terms, ' ') || array[${sql.join(scope)}])) stored`.execute(db)
    // What waits to enter the index is read by every search: keep it short.
    await sql`create index memories_by_lexeme on memories using gin (lexemes) with (gin_pending_list_limit = 128)`.execute(
      db,
    )
  } else {
    // Terms come ready made, so the tokenizer only has to part them at the spaces.
    await sql`create virtual table memory_index using fts5(
      terms, content = '', contentless_delete = 1, detail = none, tokenize = "ascii tokenchars '_'")`.execute(db)
  }
}
