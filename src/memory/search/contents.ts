import { sql } from 'kysely'
import type { MemoryScope } from '../../operation/recall.ts'
import { readable } from '../../storage/damaged-rows.ts'
import { type Database, plannedOnce } from '../../storage/database.ts'
import type { Memory } from '../memory.ts'
import { listed } from '../memory-filter.ts'
import { fromRow, SHOWN, type StoredMemory } from '../memory-rows.ts'

type MemoryRow = StoredMemory & { seq: number; agent_seq: number }

const COLUMNS = sql.raw(['memories.seq', 'memories.agent_seq', ...SHOWN].join(', '))

type Reads = { seqs: Set<number>; rows: Promise<Map<number, MemoryRow>> }

/** Reads whole memories. One query reads what all callers request in one pass of the event loop. */
export class Contents {
  readonly #db: Database
  #open: Reads | undefined

  constructor(db: Database) {
    this.#db = db
  }

  /** Returns those of the memories that still exist and belong to the scope. */
  async read(scope: MemoryScope, seqs: readonly number[]): Promise<Map<number, Memory>> {
    const found = new Map<number, Memory>()
    if (seqs.length === 0) return found
    const batch = (this.#open ??= this.#begin())
    for (const seq of seqs) batch.seqs.add(seq)
    const rows = await batch.rows
    for (const seq of seqs) {
      const row = rows.get(seq)
      if (!row || !isWithin(scope, row)) continue
      for (const memory of readable(this.#db, [row], fromRow)) found.set(seq, memory)
    }
    return found
  }

  #begin(): Reads {
    const seqs = new Set<number>()
    const rows = new Promise<void>((resolve) => setImmediate(resolve)).then(() => {
      this.#open = undefined
      return this.#list([...seqs])
    })
    return { seqs, rows }
  }

  async #list(seqs: number[]): Promise<Map<number, MemoryRow>> {
    // A cross join makes SQLite start with the few given memories.
    const { rows } = await sql<MemoryRow>`select ${plannedOnce('contents')} ${COLUMNS}
      from ${listed(this.#db, seqs)} as given cross join memories where memories.seq = given.seq`.execute(this.#db)
    return new Map(rows.map((row) => [row.seq, row]))
  }
}

/** The batch contains rows of many scopes, and each caller gets only those of its own scope. */
function isWithin({ agent_seq, user_id, session_id }: MemoryScope, row: MemoryRow): boolean {
  return (
    row.agent_seq === agent_seq &&
    (user_id === undefined || row.user_id === (user_id ?? '')) &&
    (session_id === undefined || row.session_id === (session_id ?? ''))
  )
}
