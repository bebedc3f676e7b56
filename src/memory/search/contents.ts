import { sql } from 'kysely'
import type { MemoryScope } from '../../operation/recall.ts'
import { readable } from '../../storage/damaged-rows.ts'
import { type Database, plannedOnce } from '../../storage/database.ts'
import type { Memory } from '../memory.ts'
import { listed } from '../memory-filter.ts'
import { fromRow, SHOWN } from '../memory-rows.ts'
import type { KeptRow, KeptTexts } from '../warm/kept-texts.ts'

type MemoryRow = KeptRow & { agent_seq: number }

const COLUMNS = sql.raw(['memories.seq', 'memories.agent_seq', ...SHOWN].join(', '))

type Reads = { seqs: Set<number>; rows: Promise<Map<number, MemoryRow>> }

/** Reads whole memories. One query reads what all callers request in one pass of the event loop. */
export class Contents {
  readonly #db: Database
  #open: Reads | undefined

  constructor(db: Database) {
    this.#db = db
  }

  /**
   * Returns those of the memories that still exist and belong to the scope. `kept` are texts of the same scope. Those
   * that are read are added to them.
   */
  async read(scope: MemoryScope, seqs: readonly number[], kept?: KeptTexts): Promise<Map<number, Memory>> {
    const rows = new Map<number, KeptRow>()
    for (const seq of seqs) {
      const row = kept?.get(seq)
      if (row) rows.set(seq, row)
    }
    const missing = seqs.filter((seq) => !rows.has(seq))
    if (missing.length > 0) {
      const batch = (this.#open ??= this.#begin())
      for (const seq of missing) batch.seqs.add(seq)
      const read = await batch.rows
      for (const seq of missing) {
        const row = read.get(seq)
        if (!row || !isWithin(scope, row)) continue
        rows.set(seq, row)
        kept?.add(row)
      }
    }
    return new Map(readable(this.#db, [...rows.values()], (row) => [row.seq, fromRow(row)]))
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
