import type { Generated } from 'kysely'

/** SQLite indexes it in `memory_index`, PostgreSQL in its column `lexemes`. */
export type MemoriesTable = {
  seq: Generated<number>
  id: string
  agent_seq: number
  kind: string
  role: string | null
  /** Empty for none, as is `session_id`: nothing that is not null must be equal to it. */
  user_id: string
  session_id: string
  content: string
  metadata: string
  /** What it is found by, parted by spaces, and how many there are. */
  terms: string
  length: number
  created_at: number
  /** The newer fact about the same thing: this one is not found any more. */
  superseded_by: Generated<string | null>
}

/** What an agent (level 0), one of its users (1) or one of their sessions (2) has to remember. */
export type MemoryScopesTable = {
  agent_seq: number
  level: number
  /** Empty above its level. */
  user_id: string
  session_id: string
  /** Another one after every removal and change. */
  generation: string
  turns: number
  notes: number
  /** How many terms they have in all. */
  turn_terms: number
  note_terms: number
  last_at: number
  /** Facts were extracted from the memories up to this one. */
  facts_through: Generated<number>
}

export type MemoryVectorsTable = {
  memory_seq: number
  model: string
  /** Base64 of 32-bit floats, little-endian, of unit length. */
  vector: string
}
