import { jsonOf } from '../storage/damaged-rows.ts'
import { type StoredTerms, storedTerms } from './language/terms.ts'
import type { Memory } from './memory.ts'

/** The columns from which a memory is shown. */
export const SHOWN = [
  'memories.id',
  'memories.kind',
  'memories.role',
  'memories.user_id',
  'memories.session_id',
  'memories.content',
  'memories.metadata',
  'memories.created_at',
  'memories.superseded_by',
  'memories.version',
  'memories.deployment_id',
] as const

type TermSource = { kind: string; content: string; superseded_by: string | null }

/** A superseded memory is kept, but it has no terms, so searches don't find it. */
function termColumns({ kind, content, superseded_by }: TermSource): StoredTerms {
  return superseded_by === null ? storedTerms(kind, content) : { terms: '', length: 0 }
}

/** A memory to write. `indexed` are its terms, if they were already determined. */
export type NewMemory = Memory & { indexed?: StoredTerms | undefined }

export function toRow(agent_seq: number, memory: NewMemory) {
  const { superseded_by = null, version = null, deployment_id = null } = memory
  const { terms, length } = memory.indexed ?? termColumns({ ...memory, superseded_by })
  return {
    id: memory.id,
    agent_seq,
    kind: memory.kind,
    role: memory.role,
    user_id: memory.user_id ?? '',
    session_id: memory.session_id ?? '',
    content: memory.content,
    metadata: JSON.stringify(memory.metadata),
    terms,
    length,
    created_at: memory.created_at,
    superseded_by,
    version,
    deployment_id,
  }
}

/** A row of the table `memories`. */
export type StoredMemory = {
  id: string
  kind: string
  role: string | null
  user_id: string
  session_id: string
  content: string
  metadata: string
  created_at: number
  superseded_by: string | null
  version: string | null
  deployment_id: string | null
}

export function fromRow(row: StoredMemory): Memory {
  const { id, kind, role, user_id, session_id, content, created_at, superseded_by, version, deployment_id } = row
  return {
    id,
    kind: kind as Memory['kind'],
    role: role as Memory['role'],
    content,
    user_id: user_id === '' ? null : user_id,
    session_id: session_id === '' ? null : session_id,
    created_at,
    metadata: jsonOf('memory', row)('metadata'),
    superseded_by,
    version,
    deployment_id,
  }
}
