import type { ColumnTypes } from './engine-columns.ts'

export function memorySchema(types: ColumnTypes): string[] {
  const { text, integer, bytes, sequence, keyed } = types
  return [
    // As in the tables of runs, no reference to agents.
    `create table memories (
      seq ${sequence},
      id ${text} not null unique,
      agent_seq ${integer} not null,
      kind ${text} not null,
      role ${text},
      user_id ${text} not null,
      session_id ${text} not null,
      content ${text} not null,
      metadata ${text} not null,
      terms ${text} not null,
      length ${integer} not null,
      created_at ${integer} not null,
      superseded_by ${text}
    )`,
    'create index memories_by_session on memories (agent_seq, user_id, session_id, created_at, seq)',
    // What came after a watermark, of one user.
    'create index memories_by_user on memories (agent_seq, user_id, seq)',
    // Lists in the order of time, and what is older than an agent keeps.
    'create index memories_by_time on memories (agent_seq, created_at, seq)',
    // Turns are most memories, and cost nothing here.
    `create index memories_by_kind on memories (agent_seq, kind, created_at, seq) where kind <> 'turn'`,
    // Superseded facts are few and are not embedded: whoever counts what is missing must know how many there are.
    'create index memories_superseded on memories (seq) where superseded_by is not null',

    `create table memory_vectors (
      memory_seq ${integer} primary key references memories (seq) on delete cascade,
      model ${text} not null,
      vector ${bytes} not null
    )`,
    // Finds the vectors of an earlier model, and those of memories that were changed.
    'create index memory_vectors_by_model on memory_vectors (model, memory_seq)',

    `create table memory_scopes (
      agent_seq ${integer} not null,
      level ${integer} not null,
      user_id ${text} not null,
      session_id ${text} not null,
      generation ${text} not null,
      turns ${integer} not null,
      notes ${integer} not null,
      turn_terms ${integer} not null,
      note_terms ${integer} not null,
      last_at ${integer} not null,
      facts_through ${integer} not null default 0,
      facts_after ${integer} not null default 0,
      summary_after ${integer} not null default 0,
      primary key (agent_seq, level, user_id, session_id)
    ) ${keyed}`,
    // Users and sessions are listed in the order in which they were last used.
    'create index memory_scopes_by_use on memory_scopes (agent_seq, level, last_at, user_id, session_id) where level > 0',

    `create table memory_summaries (
      agent_seq ${integer} not null,
      user_id ${text} not null,
      session_id ${text} not null,
      content ${text} not null,
      turns ${integer} not null,
      through_seq ${integer} not null,
      model ${text},
      tokens_used ${integer} not null,
      updated_at ${integer} not null,
      primary key (agent_seq, user_id, session_id)
    )`,
    ...fullText(types),
  ]
}

/** Beside its terms, the index has words for a memory's agent, user and session, each with what kind of memory it is. */
function fullText({ engine }: ColumnTypes): string[] {
  if (engine === 'sqlite') {
    // Terms come ready made, so the tokenizer only has to part them at the spaces.
    return [
      `create virtual table memory_index using fts5(
        terms, content = '', contentless_delete = 1, detail = none, tokenize = "ascii tokenchars '_'")`,
      // Words of what was forgotten leave the index at once.
      `insert into memory_index (memory_index, rank) values ('secure-delete', 1)`,
    ]
  }
  const scopeWord = (letter: string, id: string) =>
    `'_' || case kind when 'turn' then 'turn' else 'note' end || '${letter}' || cast(agent_seq as text) || 'x' || ${id}`
  const scope = [scopeWord('a', `''`), scopeWord('u', 'user_id'), scopeWord('s', 'session_id')]
  return [
    `alter table memories add column lexemes tsvector generated always as
      (array_to_tsvector(string_to_array(terms, ' ') || array[${scope.join(', ')}])) stored`,
    // What waits to enter the index is read by every search: keep it short.
    'create index memories_by_lexeme on memories using gin (lexemes) with (gin_pending_list_limit = 128)',
  ]
}
