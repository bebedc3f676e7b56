import { bytes, integer, json, sequence, text, time } from '../schema/column.ts'
import { table } from '../schema/described-table.ts'

// Beside its terms, the index has words for a memory's agent, user and session, each with what kind of memory it is.

/** Terms come ready made, so the tokenizer only has to part them at the spaces. */
const SQLITE_INDEX = [
  `create virtual table memory_index using fts5(
    terms, content = '', contentless_delete = 1, detail = none, tokenize = "ascii tokenchars '_'")`,
  // Words of what was forgotten leave the index at once.
  `insert into memory_index (memory_index, rank) values ('secure-delete', 1)`,
]

const scopeWord = (letter: string, id: string) =>
  `'_' || case kind when 'turn' then 'turn' else 'note' end || '${letter}' || cast(agent_seq as text) || 'x' || ${id}`
const SCOPE_WORDS = [scopeWord('a', `''`), scopeWord('u', 'user_id'), scopeWord('s', 'session_id')].join(', ')

const POSTGRES_INDEX = [
  `alter table memories add column lexemes tsvector generated always as
    (array_to_tsvector(string_to_array(terms, ' ') || array[${SCOPE_WORDS}])) stored`,
  // What waits to enter the index is read by every search: keep it short.
  'create index memories_by_lexeme on memories using gin (lexemes) with (gin_pending_list_limit = 128)',
]

export const memoryTables = {
  /**
   * SQLite indexes it in the table `memory_index`, PostgreSQL in its column `lexemes`. As in the tables of runs, there is no
   * reference to agents.
   */
  memories: table({
    seq: sequence,
    id: text.unique,
    agent_seq: integer,
    kind: text,
    role: text.nullable,
    /** Empty instead of null, as is `session_id`, so that it can be compared with `=`. */
    user_id: text,
    session_id: text,
    content: text,
    metadata: json,
    /** The terms by which it is found, separated by spaces, and how many there are. */
    terms: text,
    length: integer,
    created_at: time,
    /** The newer fact about the same thing. A memory that has one is not found any more. */
    superseded_by: text.nullable,
  })
    .indexes({
      memories_by_session: '(agent_seq, user_id, session_id, created_at, seq)',
      // What came after a watermark, of one user.
      memories_by_user: '(agent_seq, user_id, seq)',
      // Lists in the order of time, and what is older than an agent keeps.
      memories_by_time: '(agent_seq, created_at, seq)',
      // Turns are most memories, and cost nothing here.
      memories_by_kind: "(agent_seq, kind, created_at, seq) where kind <> 'turn'",
      // Superseded facts are few and are not embedded. The count of missing embeddings subtracts them.
      memories_superseded: '(seq) where superseded_by is not null',
    })
    .also({ sqlite: SQLITE_INDEX, postgres: POSTGRES_INDEX }),
  memory_vectors: table({
    memory_seq: integer.primary.references('memories', 'seq'),
    /**
     * Empty after the memory was changed: the vector is then not compared any more, and the memory will get a new one.
     */
    model: text,
    /** 32-bit floats, little-endian, of unit length. */
    vector: bytes,
  }).indexes({
    // Finds the vectors of an earlier model, and those of memories that were changed.
    memory_vectors_by_model: '(model, memory_seq)',
  }),
  /** How many memories an agent (level 0), one of its users (level 1) or one of their sessions (level 2) has. */
  memory_scopes: table({
    agent_seq: integer,
    level: integer,
    /** Empty at levels above its own. */
    user_id: text,
    session_id: text,
    /** It gets a new value with every removal and change. */
    generation: text,
    turns: integer,
    notes: integer,
    /** How many terms they have in all. */
    turn_terms: integer,
    note_terms: integer,
    last_at: time,
    /** Facts were extracted from the memories up to this seq. */
    facts_through: integer.default(0),
    /** After a failure, when the model may be asked again for facts or for a summary of the session. 0: it has not failed. */
    facts_after: time.default(0),
    summary_after: time.default(0),
  })
    .keyedBy('agent_seq', 'level', 'user_id', 'session_id')
    .indexes({
      // Users and sessions are listed in the order in which they were last used.
      memory_scopes_by_use: '(agent_seq, level, last_at, user_id, session_id) where level > 0',
    }),
  /** One summary for each session that has one. */
  memory_summaries: table({
    agent_seq: integer,
    /** Empty for a session without a user. */
    user_id: text,
    session_id: text,
    content: text,
    /** How many turns it covers, and the seq of the last memory among them. */
    turns: integer,
    through_seq: integer,
    /** The model that wrote it last; null if a client did. */
    model: text.nullable,
    /** What the model has spent on it so far. */
    tokens_used: integer,
    updated_at: time,
  }).primaryKey('agent_seq', 'user_id', 'session_id'),
}
