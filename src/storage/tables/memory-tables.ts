import type { Generated } from 'kysely'

/** SQLite indexes it in the table `memory_index`, PostgreSQL in its column `lexemes`. */
export type MemoriesTable = {
  seq: Generated<number>
  id: string
  agent_seq: number
  kind: string
  role: string | null
  /** Empty instead of null, as is `session_id`, so that it can be compared with `=`. */
  user_id: string
  session_id: string
  content: string
  metadata: string
  /** The terms by which it is found, separated by spaces, and how many there are. */
  terms: string
  length: number
  created_at: number
  /** The newer fact about the same thing. A memory that has one is not found any more. */
  superseded_by: Generated<string | null>
}

/** How many memories an agent (level 0), one of its users (level 1) or one of their sessions (level 2) has. */
export type MemoryScopesTable = {
  agent_seq: number
  level: number
  /** Empty at levels above its own. */
  user_id: string
  session_id: string
  /** It gets a new value with every removal and change. */
  generation: string
  turns: number
  notes: number
  /** How many terms they have in all. */
  turn_terms: number
  note_terms: number
  last_at: number
  /** Facts were extracted from the memories up to this seq. */
  facts_through: Generated<number>
  /** After a failure, when the model may be asked again for facts or for a summary of the session. 0: it has not failed. */
  facts_after: Generated<number>
  summary_after: Generated<number>
}

/** One summary for each session that has one. */
export type MemorySummariesTable = {
  agent_seq: number
  /** Empty for a session without a user. */
  user_id: string
  session_id: string
  content: string
  /** How many turns it covers, and the seq of the last memory among them. */
  turns: number
  through_seq: number
  /** The model that wrote it last; null if a client did. */
  model: string | null
  /** What the model has spent on it so far. */
  tokens_used: number
  updated_at: number
}

export type MemoryVectorsTable = {
  memory_seq: number
  /**
   * Empty after the memory was changed: the vector is then not compared any more, and the memory will get a new one.
   */
  model: string
  /** 32-bit floats, little-endian, of unit length. */
  vector: Uint8Array
}
