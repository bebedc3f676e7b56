import type { MemoryScope } from '../../operation/recall.ts'
import type { Database } from '../../storage/database.ts'
import type { WordVectors } from '../language/word-vectors.ts'
import { Postings } from '../ranking/postings.ts'
import { countedScope } from './scope-counts.ts'
import { ScopeReader } from './scope-reader.ts'
import { WarmScope } from './warm-scope.ts'

/** About how many bytes a scope takes for each memory. No scope may take more than the share below. */
const BYTES_PER_MEMORY = 200
const LARGEST_SHARE = 1 / 2

/** `bytes` is the size of the scope when it was last measured. */
type KeptScope = { warm: WarmScope; bytes: number }

/** The scopes in use, kept in memory as far as there is room. The least recently used ones are dropped first. */
export class WarmScopes {
  readonly #reader: ScopeReader
  readonly #room: number
  readonly #words: () => WordVectors | undefined
  readonly #scopes = new Map<string, KeptScope>()
  readonly #empty = new Postings()
  #used = 0

  /** `room` is in bytes. `words` are used to compare meanings. */
  constructor(db: Database, room: number, words: () => WordVectors | undefined) {
    this.#reader = new ScopeReader(db)
    this.#room = room
    this.#words = words
  }

  /** All memories of the scope as they are stored now. Undefined when the index must be used instead. */
  async find(scope: MemoryScope): Promise<Postings | undefined> {
    const counted = countedScope(scope)
    if (!counted) return undefined
    const key = JSON.stringify([scope.agent_seq, counted.level, scope.user_id, scope.session_id])
    const kept = this.#scopes.get(key) ?? { warm: new WarmScope(this.#reader, counted, this.#words()), bytes: 0 }
    this.#scopes.delete(key)
    this.#scopes.set(key, kept)
    const isWhole = await kept.warm.refresh((this.#room * LARGEST_SHARE) / BYTES_PER_MEMORY)
    const { postings } = kept.warm
    // The scope may have been dropped while it was read.
    if (this.#scopes.get(key) === kept) this.#account(key, kept, postings)
    return isWhole ? (postings ?? this.#empty) : undefined
  }

  #account(key: string, kept: KeptScope, postings: Postings | undefined): void {
    const bytes = postings?.bytes ?? 0
    this.#used += bytes - kept.bytes
    kept.bytes = bytes
    if (bytes === 0) this.#scopes.delete(key)
    for (const [oldest, { bytes: freed }] of this.#scopes) {
      if (this.#used <= this.#room) return
      this.#scopes.delete(oldest)
      this.#used -= freed
    }
  }
}
