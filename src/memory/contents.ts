import type { MemoryScope as Scope } from '../operation/recall.ts'
import type { Database } from '../storage/database.ts'
import type { Memory } from './memory.ts'
import { listed } from './within.ts'

type Row = {
  seq: number
  id: string
  agent_seq: number
  kind: string
  role: string | null
  user_id: string
  session_id: string
  content: string
  metadata: string
  created_at: number
}

type Batch = { seqs: Set<number>; rows: Promise<Map<number, Row>> }

/** Reads memories in full. What many callers want in the same turn of the event loop is read by one query. */
export class Contents {
  readonly #db: Database
  #open: Batch | undefined

  constructor(db: Database) {
    this.#db = db
  }

  /** Those of them that are still there and of the scope. */
  async read(scope: Scope, seqs: readonly number[]): Promise<Map<number, Memory>> {
    const found = new Map<number, Memory>()
    if (seqs.length === 0) return found
    const batch = (this.#open ??= this.#begin())
    for (const seq of seqs) batch.seqs.add(seq)
    const rows = await batch.rows
    for (const seq of seqs) {
      const row = rows.get(seq)
      if (row && isWithin(scope, row)) found.set(seq, toMemory(row))
    }
    return found
  }

  #begin(): Batch {
    const seqs = new Set<number>()
    const rows = new Promise<void>((resolve) => setImmediate(resolve)).then(() => {
      this.#open = undefined
      return this.#list([...seqs])
    })
    return { seqs, rows }
  }

  async #list(seqs: number[]): Promise<Map<number, Row>> {
    // A cross join, so that SQLite begins with the few that are wanted.
    const rows = await this.#db
      .selectFrom(listed(this.#db, seqs).as('given'))
      .crossJoin('memories')
      .whereRef('memories.seq', '=', 'given.seq')
      .select(['memories.seq', 'memories.id', 'memories.agent_seq', 'memories.kind', 'memories.role'])
      .select(['memories.user_id', 'memories.session_id', 'memories.content'])
      .select(['memories.metadata', 'memories.created_at'])
      .execute()
    return new Map(rows.map((row) => [row.seq, row]))
  }
}

/** The batch has rows of many scopes: each caller gets its own. */
function isWithin({ agent_seq, user_id, session_id }: Scope, row: Row): boolean {
  return (
    row.agent_seq === agent_seq &&
    (user_id === undefined || row.user_id === (user_id ?? '')) &&
    (session_id === undefined || row.session_id === (session_id ?? ''))
  )
}

function toMemory({
  id,
  kind,
  role,
  user_id,
  session_id,
  content,
  metadata,
  created_at,
}: Omit<Row, 'seq' | 'agent_seq'>): Memory {
  return {
    id,
    kind: kind as Memory['kind'],
    role: role as Memory['role'],
    content,
    user_id: user_id === '' ? null : user_id,
    session_id: session_id === '' ? null : session_id,
    created_at,
    metadata: JSON.parse(metadata),
  }
}
