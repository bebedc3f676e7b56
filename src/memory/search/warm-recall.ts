import type { Conversation, MemoryMatch, MemoryScope, Recall, RecallResult } from '../../operation/recall.ts'
import type { Embedder } from '../../runtime/embedders/embedder.ts'
import type { Meter } from '../../runtime/models/meter.ts'
import type { RecalledNames } from '../../runtime/steps.ts'
import type { Storage } from '../../storage/open-storage.ts'
import type { Page } from '../../storage/queries/page.ts'
import { findSimilar } from '../embedding/vectors.ts'
import { type Question, questionOf } from '../language/question.ts'
import { WordVectors } from '../language/word-vectors.ts'
import { type Memory, turnOf } from '../memory.ts'
import { scopeOfRun } from '../memory-filter.ts'
import { type BestOptions, bestOf } from '../ranking/best.ts'
import type { RankedItem } from '../ranking/heap.ts'
import { type Plan, planSearch } from '../ranking/plan.ts'
import type { Postings } from '../ranking/postings.ts'
import { DATE, MEANING, Scorer, WORDS } from '../ranking/score.ts'
import { listLatestTurns } from '../store.ts'
import type { SessionSummary } from '../summaries/summary.ts'
import { findSummary } from '../summaries/summary-store.ts'
import { WarmScopes } from '../warm/warm-scopes.ts'
import { findCandidates } from './candidates.ts'
import { Contents } from './contents.ts'

/** How many candidates are requested from the index if a scope is too large to be kept in memory. */
const CANDIDATES = 500
/** How many occurrences of its terms a search visits, so that one query can't delay others for long. */
const SEARCH_VISITS = 100_000
/** The same for recall. The number is smaller because the answer waits for it. */
const RECALL_VISITS = 4_000

type SearchOptions = Omit<BestOptions, 'similarity'> & { visits: number }
type Ranking = ReturnType<typeof bestOf>

/** Finds memories. Scopes in use are kept in memory; for larger scopes, the database's index is used. */
export class WarmRecall implements Recall {
  readonly #storage: Pick<Storage, 'db' | 'compare'>
  readonly #now: () => number
  readonly #embedder: Embedder | undefined
  readonly #isPaused: (agent_seq: number) => Promise<boolean>
  readonly #warm: WarmScopes
  readonly #contents: Contents
  /** All searches of this thread share one scorer, which reuses its arrays. */
  readonly #scorer = new Scorer()

  /** `room` is how many bytes the scopes in memory can take. */
  constructor(options: {
    storage: Pick<Storage, 'db' | 'compare'>
    now: () => number
    room: number
    embedder?: Embedder | undefined
    /** The project in whose share of the room an agent's memories are counted. */
    projectOf?: (agent_seq: number) => Promise<string>
    /** Whether the agent's project can't spend anything now. Memory is then searched by words only. */
    isPaused?: (agent_seq: number) => Promise<boolean>
  }) {
    this.#storage = options.storage
    this.#now = options.now
    this.#embedder = options.embedder
    this.#isPaused = options.isPaused ?? (async () => false)
    this.#warm = new WarmScopes(options.storage.db, {
      room: options.room,
      words: () => this.#findWords(),
      projectOf: options.projectOf ?? (async () => ''),
    })
    this.#contents = new Contents(options.storage.db)
  }

  /** Word vectors aren't used together with an embedder, because the embedder knows meanings better. */
  #findWords(): WordVectors | undefined {
    return this.#embedder ? undefined : WordVectors.read()
  }

  /** The scope's memories that match the query, best first. */
  async search(
    scope: MemoryScope,
    query: string,
    { limit, offset = 0, min_score = 0 }: { limit: number; offset?: number; min_score?: number },
    meter: Meter,
    signal?: AbortSignal,
  ): Promise<Page<MemoryMatch>> {
    const warm = await this.#warm.find(scope)
    const options = { top: offset + limit, min_score, visits: SEARCH_VISITS, meter, signal }
    const { hits, total } = await this.#findBest(scope, query, warm?.postings, options)
    const shown = hits.slice(offset)
    const seqs = shown.map(({ seq }) => seq)
    return { items: withScores(shown, await this.#contents.read(scope, seqs, warm?.texts)), total }
  }

  /**
   * The latest turns of the conversation, and what is recalled: from all memories of the user, or without a user from
   * this conversation only. Turns that are in the history aren't recalled again.
   */
  async remember(
    conversation: Conversation,
    message: string,
    limits: { history: number; recall: number; summarize?: boolean | number },
    meter: Meter,
    signal?: AbortSignal,
  ): Promise<RecallResult> {
    const scope = scopeOfRun(conversation)
    if (!scope) return { history: [], recalled: [] }
    const warm = await this.#warm.find(scope)
    const postings = warm?.postings
    if (postings?.size === 0) return { history: [], recalled: [] }
    const shown = await this.#latestTurns(conversation, postings, limits.history)
    const known = new Set(shown)
    const { hits } =
      limits.recall === 0
        ? { hits: [] }
        : await this.#findBest(scope, message, postings, {
            top: limits.recall + shown.length,
            visits: RECALL_VISITS,
            meter,
            signal,
          })
    const recalled = hits.filter(({ seq }) => !known.has(seq)).slice(0, limits.recall)
    const memories = await this.#contents.read(scope, [...shown, ...recalled.map(({ seq }) => seq)], warm?.texts)
    const turns = shown.toReversed().filter((seq) => memories.has(seq))
    const isSummarized = limits.summarize && conversation.session_id !== null
    const summary = isSummarized ? await findSummary(this.#storage.db, conversation) : undefined
    return {
      history: turns.map((seq) => turnOf(memories.get(seq) as Memory)),
      recalled: withScores(recalled, memories),
      summary: summary?.content,
      names: namesOf(
        turns,
        recalled.filter(({ seq }) => memories.has(seq)),
        summary,
      ),
    }
  }

  /** Returns the latest turn first. */
  async #latestTurns(conversation: Conversation, postings: Postings | undefined, limit: number): Promise<number[]> {
    const { user_id, session_id } = conversation
    if (session_id === null || limit === 0) return []
    if (!postings) return listLatestTurns(this.#storage.db, conversation, limit)
    return postings.latestTurns({ user_id: user_id ?? '', session_id }, limit)
  }

  async #findBest(
    scope: MemoryScope,
    query: string,
    warm: Postings | undefined,
    { visits, meter, signal, ...options }: SearchOptions & { meter: Meter; signal: AbortSignal | undefined },
  ): Promise<Ranking> {
    if (warm && !this.#embedder) return this.#rank(query, warm, { visits, ...options })
    const question = questionOf(query, this.#now())
    const isPaused = this.#embedder !== undefined && (await this.#isPaused(scope.agent_seq))
    const vector = isPaused ? undefined : await this.#embedder?.query(query, meter, signal)
    const { plan, postings } = warm
      ? { plan: planOf(question, warm), postings: warm }
      : await findCandidates(this.#storage.db, scope, question, CANDIDATES)
    // While the embedder's vectors are read, another search may use the shared scorer.
    const scorer = vector ? new Scorer() : this.#scorer
    scorer.score(postings, plan, visits)
    if (!this.#embedder || !vector) return bestOf(postings, scorer, options)
    const scored = Array.from(scorer.memories.subarray(0, scorer.found), (memory) => postings.seqs[memory] as number)
    const similarity = await findSimilar(this.#storage, scope, { model: this.#embedder.model, vector }, scored)
    return bestOf(postings, scorer, { ...options, similarity })
  }

  #rank(query: string, postings: Postings, { visits, ...options }: SearchOptions): Ranking {
    const question = questionOf(query, this.#now())
    this.#scorer.score(postings, planOf(question, postings), visits)
    return bestOf(postings, this.#scorer, options)
  }
}

function planOf(question: Question, postings: Postings): Plan {
  return planSearch(question, postings.statistics(question), postings.compounds(question))
}

function namesOf(turns: number[], hits: RankedItem[], summary: SessionSummary | undefined): RecalledNames | undefined {
  if (turns.length + hits.length === 0 && !summary) return undefined
  const memories = hits.map(({ seq, score }) => ({ seq, score: Math.round(score * 1_000) / 1_000 }))
  return { turns, memories, summarized_at: summary?.updated_at ?? null }
}

/** The memories of the hits. A memory that was removed in the meantime is left out. */
function withScores(hits: RankedItem[], memories: ReadonlyMap<number, Memory>): MemoryMatch[] {
  return hits.flatMap(({ seq, score, ways }) => {
    const memory = memories.get(seq)
    return memory ? { ...memory, score, matched: matchedBy(ways) } : []
  })
}

const WAYS = { words: WORDS, meaning: MEANING, date: DATE }

function matchedBy(ways: number): MemoryMatch['matched'] {
  return (Object.keys(WAYS) as MemoryMatch['matched']).filter((way) => (ways & WAYS[way]) !== 0)
}
