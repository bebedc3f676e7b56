import { bytes, integer, json, sequence, text, time } from '../schema/column.ts'
import { table } from '../schema/described-table.ts'

// Besides a memory's terms, the index contains words for its agent, user and session, each combined with the memory's
// kind.

/** The terms are already prepared, so the tokenizer only has to split them at spaces. */
const SQLITE_INDEX = [
  `create virtual table memory_index using fts5(
    terms, content = '', contentless_delete = 1, detail = none, tokenize = "ascii tokenchars '_'")`,
  // Removes the words of forgotten memories from the index immediately.
  `insert into memory_index (memory_index, rank) values ('secure-delete', 1)`,
]

const scopeWord = (letter: string, id: string) =>
  `'_' || case kind when 'turn' then 'turn' else 'note' end || '${letter}' || cast(agent_seq as text) || 'x' || ${id}`
const SCOPE_WORDS = [scopeWord('a', `''`), scopeWord('u', 'user_id'), scopeWord('s', 'session_id')].join(', ')

const POSTGRES_INDEX = [
  `alter table memories add column lexemes tsvector generated always as
    (array_to_tsvector(string_to_array(terms, ' ') || array[${SCOPE_WORDS}])) stored`,
  // Every search reads the entries that wait to be indexed, so this list is kept short.
  'create index memories_by_lexeme on memories using gin (lexemes) with (gin_pending_list_limit = 128)',
]

export const memoryTables = {
  /**
   * What agents remember. SQLite indexes it in the table `memory_index`, PostgreSQL in the column `lexemes`. As in the
   * run tables, nothing refers to agents by a foreign key.
   */
  memories: table({
    seq: sequence,
    id: text.unique,
    agent_seq: integer,
    kind: text,
    role: text.nullable,
    /** Empty instead of null, like `session_id`, so it can be compared with `=`. */
    user_id: text,
    session_id: text,
    content: text,
    metadata: json,
    /** The terms by which the memory is found, separated by spaces, and their number. */
    terms: text,
    length: integer,
    created_at: time,
    /** The newer fact about the same thing. A fact that has a newer one is no longer found. */
    superseded_by: text.nullable,
    /**
     * The version used by the run that wrote the memory, or by the latest run that a fact is about. Null for anything
     * else.
     */
    version: text.nullable,
    deployment_id: text.nullable,
  })
    .indexes({
      memories_by_session: '(agent_seq, user_id, session_id, created_at, seq)',
      // For a user's memories after a watermark.
      memories_by_user: '(agent_seq, user_id, seq)',
      // For lists in the order of time, and for finding memories that are older than an agent keeps them.
      memories_by_time: '(agent_seq, created_at, seq)',
      // Leaves out turns, because most memories are turns.
      memories_by_kind: "(agent_seq, kind, created_at, seq) where kind <> 'turn'",
      // Superseded facts are few and aren't embedded, so the count of missing embeddings subtracts them.
      memories_superseded: '(seq) where superseded_by is not null',
      // For a rollback that forgets what a deployment has written.
      memories_by_deployment: '(deployment_id, seq) where deployment_id is not null',
    })
    .also({ sqlite: SQLITE_INDEX, postgres: POSTGRES_INDEX }),
  memory_vectors: table({
    memory_seq: integer.primary.references('memories', 'seq'),
    /** Empty after the memory was changed. The vector is then no longer used, and the memory will get a new one. */
    model: text,
    /** 32-bit floats, little-endian, of unit length. */
    vector: bytes,
  }).indexes({
    // For finding the vectors of an earlier model and of changed memories.
    memory_vectors_by_model: '(model, memory_seq)',
  }),
  /**
   * The number of memories that belong to an agent (level 0), to one of its users (level 1) or to a session (level 2).
   */
  memory_scopes: table({
    agent_seq: integer,
    level: integer,
    /** Empty at level 0. */
    user_id: text,
    session_id: text,
    /** Gets a new value when memories are removed or changed. */
    generation: text,
    turns: integer,
    notes: integer,
    /** The total number of terms in the turns. */
    turn_terms: integer,
    note_terms: integer,
    last_at: time,
    /** The seq up to which facts have been extracted. */
    facts_through: integer.default(0),
    /** After a failure, when the model can be asked again for facts or a session summary. 0 if it hasn't failed. */
    facts_after: time.default(0),
    summary_after: time.default(0),
  })
    .keyedBy('agent_seq', 'level', 'user_id', 'session_id')
    .indexes({
      // Users and sessions are listed in the order of last use.
      memory_scopes_by_use: '(agent_seq, level, last_at, user_id, session_id) where level > 0',
    }),
  /** One summary per session. */
  memory_summaries: table({
    agent_seq: integer,
    /** Empty for a session without a user. */
    user_id: text,
    session_id: text,
    content: text,
    /** The number of turns that the summary covers, and the seq of the last of them. */
    turns: integer,
    through_seq: integer,
    /** The model that last wrote the summary. Null if a client wrote it. */
    model: text.nullable,
    /** How many tokens the model has used for the summary so far. */
    tokens_used: integer,
    updated_at: time,
  }).primaryKey('agent_seq', 'user_id', 'session_id'),
}
