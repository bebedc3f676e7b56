import { sql } from 'kysely'
import type { Migration } from './migration.ts'

const COLUMNS = sql.raw(
  'agent_seq, level, user_id, session_id, generation, turns, notes, turn_terms, note_terms, last_at, facts_through',
)

/**
 * SQLite kept the rows of `memory_scopes` in the order of a number that nobody uses, and their keys once more. Now they
 * are kept by their keys: a new user or session costs half as much.
 */
export const leanScopes: Migration = async (db, engine) => {
  if (engine === 'postgres') return
  await sql`create table lean_scopes (
    agent_seq integer not null, level integer not null, user_id text not null, session_id text not null,
    generation text not null, turns integer not null, notes integer not null, turn_terms integer not null,
    note_terms integer not null, last_at integer not null, facts_through integer not null default 0,
    primary key (agent_seq, level, user_id, session_id)) without rowid`.execute(db)
  await sql`insert into lean_scopes (${COLUMNS}) select ${COLUMNS} from memory_scopes`.execute(db)
  await sql`drop table memory_scopes`.execute(db)
  await sql`alter table lean_scopes rename to memory_scopes`.execute(db)
}
