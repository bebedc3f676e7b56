import type { StoredMemory } from '../memory-rows.ts'

/** Longer texts are read again each time. */
export const LONGEST_KEPT = 4_000
const MOST_BYTES = 64_000
/** What an entry takes besides its texts. */
const BYTES_PER_ENTRY = 400

export type KeptRow = StoredMemory & { seq: number }

/**
 * The texts of a scope that were written or read last: the next message needs mostly these. They belong to one
 * generation of the scope, so nothing that was removed or changed is among them.
 */
export class KeptTexts {
  readonly #rows = new Map<number, KeptRow>()
  bytes = 0

  /** Keeps the row longer than those that aren't used. */
  get(seq: number): KeptRow | undefined {
    const row = this.#rows.get(seq)
    if (!row) return undefined
    this.#rows.delete(seq)
    this.#rows.set(seq, row)
    return row
  }

  add(row: KeptRow): void {
    if (row.content.length > LONGEST_KEPT || this.#rows.has(row.seq)) return
    this.#rows.set(row.seq, row)
    this.bytes += bytesOf(row)
    for (const [seq, oldest] of this.#rows) {
      if (this.bytes <= MOST_BYTES) return
      this.#rows.delete(seq)
      this.bytes -= bytesOf(oldest)
    }
  }
}

function bytesOf({ content, metadata }: KeptRow): number {
  return BYTES_PER_ENTRY + content.length + metadata.length
}
