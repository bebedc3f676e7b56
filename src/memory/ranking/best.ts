import { Best, type RankedItem } from './heap.ts'
import type { Postings } from './postings.ts'
import { MEANING, type Scorer } from './score.ts'
import { HALF, WORDS_WEIGHT } from './weights.ts'

/** From this cosine on, a memory counts as found by its meaning. Below it, most texts are similar. */
const ALIKE = 0.3

export type BestOptions = {
  /** How many memories to return. */
  top: number
  min_score?: number
  /** The embedder's cosine to the query by seq, if there is an embedder. */
  similarity?: ReadonlyMap<number, number> | undefined
}

/**
 * The best of the scored and the similar memories, best first. If two are equal, the newer one comes first. Scores are
 * above 0 and at most 1. `total` counts all memories that score at least `min_score`.
 */
export function bestOf(
  { seqs }: Postings,
  { memories, sums, ways, found }: Scorer,
  { top, min_score = 0, similarity }: BestOptions,
): { hits: RankedItem[]; total: number } {
  const best = new Best(top)
  let total = 0
  const offer = (seq: number, sum: number, way: number) => {
    const cosine = similarity && (similarity.get(seq) ?? 0)
    const score = scoreOf(sum, cosine)
    if (score === 0 || score < min_score) return
    total += 1
    best.offer(seq, score, cosine !== undefined && (way === 0 || cosine >= ALIKE) ? way | MEANING : way)
  }
  for (let i = 0; i < found; i++) {
    const memory = memories[i] as number
    offer(seqs[memory] as number, sums[memory] as number, ways[memory] as number)
  }
  if (similarity) {
    const scored = new Set<number>()
    for (let i = 0; i < found; i++) scored.add(seqs[memories[i] as number] as number)
    for (const seq of similarity.keys()) if (!scored.has(seq)) offer(seq, 0, 0)
  }
  return { hits: best.sorted(), total }
}

function scoreOf(sum: number, cosine: number | undefined): number {
  const byWords = sum / (sum + HALF)
  const score = cosine === undefined ? byWords : WORDS_WEIGHT * byWords + (1 - WORDS_WEIGHT) * Math.max(0, cosine)
  return Math.round(score * 1e6) / 1e6
}
