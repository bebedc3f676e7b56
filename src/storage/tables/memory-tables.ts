import { bytes, integer, json, sequence, text, time } from '../schema/column.ts'
import { table } from '../schema/described-table.ts'

// Besides a memory's terms, the index contains words for its agent, user and session, each with the kind of memory.

/** The terms are already prepared, so the tokenizer only has to split them at the spaces. */
const SQLITE_INDEX = [
  `create virtual table memory_index using fts5(
    terms, content = '', contentless_delete = 1, detail = none, tokenize = "ascii tokenchars '_'")`,
  // Words of forgotten memories leave the index immediately.
  `insert into memory_index (memory_index, rank) values ('secure-delete', 1)`,
]

const scopeWord = (letter: string, id: string) =>
  `'_' || case kind when 'turn' then 'turn' else 'note' end || '${letter}' || cast(agent_seq as text) || 'x' || ${id}`
const SCOPE_WORDS = [scopeWord('a', `''`), scopeWord('u', 'user_id'), scopeWord('s', 'session_id')].join(', ')

const POSTGRES_INDEX = [
  `alter table memories add column lexemes tsvector generated always as
    (array_to_tsvector(string_to_array(terms, ' ') || array[${SCOPE_WORDS}])) stored`,
  // Every search reads what waits to be indexed, so keep it short.
  'create index memories_by_lexeme on memories using gin (lexemes) with (gin_pending_list_limit = 128)',
]

export const memoryTables = {
  /**
   * SQLite indexes it in the table `memory_index`, PostgreSQL in its column `lexemes`. As in the tables of runs, there
   * is no reference to agents.
   */
  memories: table({
    seq: sequence,
    id: text.unique,
    agent_seq: integer,
    kind: text,
    role: text.nullable,
    /** Empty instead of null, like `session_id`, so that it can be compared with `=`. */
    user_id: text,
    session_id: text,
    content: text,
    metadata: json,
    /** The terms that find it, separated by spaces, and how many there are. */
    terms: text,
    length: integer,
    created_at: time,
    /** The newer fact about the same thing. A memory with a newer fact is no longer found. */
    superseded_by: text.nullable,
    /** What answered in the run that wrote it, or in the latest run that a fact is about. Null for anything else. */
    version: text.nullable,
    deployment_id: text.nullable,
  })
    .indexes({
      memories_by_session: '(agent_seq, user_id, session_id, created_at, seq)',
      // A user's memories after a watermark.
      memories_by_user: '(agent_seq, user_id, seq)',
      // For lists in order of time, and for what is older than an agent keeps.
      memories_by_time: '(agent_seq, created_at, seq)',
      // Most memories are turns, which this index leaves out.
      memories_by_kind: "(agent_seq, kind, created_at, seq) where kind <> 'turn'",
      // Superseded facts are few and aren't embedded. The count of missing embeddings subtracts them.
      memories_superseded: '(seq) where superseded_by is not null',
      // For a rollback that forgets what a deployment wrote.
      memories_by_deployment: '(deployment_id, seq) where deployment_id is not null',
    })
    .also({ sqlite: SQLITE_INDEX, postgres: POSTGRES_INDEX }),
  memory_vectors: table({
    memory_seq: integer.primary.references('memories', 'seq'),
    /** Empty after the memory was changed: then the vector isn't used any more, and the memory will get a new one. */
    model: text,
    /** 32-bit floats, little-endian, of unit length. */
    vector: bytes,
  }).indexes({
    // Finds the vectors of an earlier model, and those of changed memories.
    memory_vectors_by_model: '(model, memory_seq)',
  }),
  /** How many memories an agent (level 0), one of its users (level 1) or one of their sessions (level 2) has. */
  memory_scopes: table({
    agent_seq: integer,
    level: integer,
    /** Empty at levels above its own. */
    user_id: text,
    session_id: text,
    /** Gets a new value with every removal and change. */
    generation: text,
    turns: integer,
    notes: integer,
    /** How many terms they have in total. */
    turn_terms: integer,
    note_terms: integer,
    last_at: time,
    /** Facts have been extracted from the memories up to this seq. */
    facts_through: integer.default(0),
    /** After a failure, when the model can be asked again for facts or for a session summary. 0: it hasn't failed. */
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
    /** How many turns it covers, and the seq of the last memory among them. */
    turns: integer,
    through_seq: integer,
    /** The model that wrote it last; null if a client did. */
    model: text.nullable,
    /** What the model has used for it so far. */
    tokens_used: integer,
    updated_at: time,
  }).primaryKey('agent_seq', 'user_id', 'session_id'),
}
