import type { MemoryScope } from '../../operation/recall.ts'
import type { Database } from '../../storage/database.ts'
import type { WordVectors } from '../language/word-vectors.ts'
import { Postings } from '../ranking/postings.ts'
import { KeptTexts } from './kept-texts.ts'
import { countedScope } from './scope-counts.ts'
import { ScopeReader } from './scope-reader.ts'
import { type WarmMemories, WarmScope } from './warm-scope.ts'

/** No scope can take more than this share of the room. */
const LARGEST_SHARE = 1 / 2

/** `bytes` is the size of the scope when it was last measured. */
type ScopeEntry = { warm: WarmScope; bytes: number; project: string | undefined }

/** How much room a project's scopes take in total, and their keys, least recently used first. */
type ProjectShare = { bytes: number; keys: Set<string> }

type WarmOptions = {
  /** In bytes. */
  room: number
  /** Returns the vectors with which meanings are compared. */
  words: () => WordVectors | undefined
  projectOf: (agent_seq: number) => Promise<string>
}

/**
 * The scopes in use, kept in memory while there is room. When there is no room left, the project that uses the most
 * loses its least recently used scope.
 */
export class WarmScopes {
  readonly #reader: ScopeReader
  readonly #options: WarmOptions
  readonly #scopes = new Map<string, ScopeEntry>()
  readonly #shares = new Map<string, ProjectShare>()
  readonly #empty: WarmMemories = { postings: new Postings(), texts: new KeptTexts() }
  #used = 0

  constructor(db: Database, options: WarmOptions) {
    this.#reader = new ScopeReader(db)
    this.#options = options
  }

  /** All memories of the scope as they are stored now. Undefined if the index must be used instead. */
  async find(scope: MemoryScope): Promise<WarmMemories | undefined> {
    const counted = countedScope(scope)
    if (!counted) return undefined
    const { room, words, projectOf } = this.#options
    const key = JSON.stringify([scope.agent_seq, counted.level, scope.user_id, scope.session_id])
    const kept = this.#scopes.get(key) ?? {
      warm: new WarmScope(this.#reader, counted, words()),
      bytes: 0,
      project: undefined,
    }
    this.#scopes.set(key, kept)
    kept.project ??= await projectOf(scope.agent_seq)
    const isWhole = await kept.warm.refresh(room * LARGEST_SHARE)
    const { memories } = kept.warm
    // The scope may have been dropped while it was being read.
    if (this.#scopes.get(key) === kept) this.#account(key, kept, kept.project)
    return isWhole ? (memories ?? this.#empty) : undefined
  }

  #account(key: string, kept: ScopeEntry, project: string): void {
    this.#release(key, kept, project)
    kept.bytes = kept.warm.bytes
    if (kept.bytes === 0) return
    this.#scopes.set(key, kept)
    const share = this.#shares.get(project) ?? { bytes: 0, keys: new Set() }
    this.#shares.set(project, share)
    share.bytes += kept.bytes
    share.keys.add(key)
    this.#used += kept.bytes
    while (this.#used > this.#options.room) this.#dropOne()
  }

  #dropOne(): void {
    const [project, { keys }] = [...this.#shares].reduce((a, b) => (b[1].bytes > a[1].bytes ? b : a))
    const oldest = keys.values().next().value as string
    this.#release(oldest, this.#scopes.get(oldest) as ScopeEntry, project)
  }

  #release(key: string, { bytes }: ScopeEntry, project: string): void {
    this.#scopes.delete(key)
    const share = this.#shares.get(project)
    if (!share?.keys.delete(key)) return
    share.bytes -= bytes
    this.#used -= bytes
    if (share.keys.size === 0) this.#shares.delete(project)
  }
}
