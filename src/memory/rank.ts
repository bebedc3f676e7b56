/** Turns are short and many, notes are written to be found: each kind is measured against its own. */
export type Collection = 'turn' | 'note'

/** What BM25 must know of a collection: how many memories, how many terms in all, and how many memories have a term. */
export type Statistics = { count: number; length: number; having: Map<string, number> }

export type Document = {
  seq: number
  collection: Collection
  /** Parted by spaces. */
  terms: string
  length: number
  created_at: number
  /** The turns right before and after it in its session. */
  neighbours: number[]
}

export type Ranked = { seq: number; score: number }

const SATURATION = 1.2
const LENGTH_WEIGHT = 0.75
const NEIGHBOUR_WEIGHT = 0.3
/** The BM25 at which a hit scores one half. */
const HALF = 8
const LEXICAL_WEIGHT = 0.7

/**
 * Best first, scores above 0 only, at most 1. Words are weighed by BM25: a term counts in the memory itself and, lighter,
 * in the turns beside it, because an answer rarely repeats the words of its question. `similarity` is the cosine to the
 * query, if an embedder is in use.
 */
export function rank(
  query: readonly string[],
  documents: ReadonlyMap<number, Document>,
  statistics: Readonly<Record<Collection, Statistics>>,
  similarity?: ReadonlyMap<number, number>,
): Ranked[] {
  const weights = { turn: weigh(query, statistics.turn), note: weigh(query, statistics.note) }
  const own = new Map<number, number[]>()
  for (const document of documents.values()) {
    own.set(document.seq, frequencies(query, document, statistics[document.collection]))
  }
  const scored = [...documents.values()].map((document) => {
    const beside = document.neighbours.flatMap((seq) => own.get(seq) ?? [])
    const bm25 = score(weights[document.collection], own.get(document.seq) as number[], beside)
    const lexical = bm25 / (bm25 + HALF)
    const blended = similarity
      ? LEXICAL_WEIGHT * lexical + (1 - LEXICAL_WEIGHT) * Math.max(0, similarity.get(document.seq) ?? 0)
      : lexical
    return { seq: document.seq, created_at: document.created_at, score: Math.round(blended * 1e6) / 1e6 }
  })
  return scored
    .filter((hit) => hit.score > 0)
    .sort((a, b) => b.score - a.score || b.created_at - a.created_at || b.seq - a.seq)
    .map((hit) => ({ seq: hit.seq, score: hit.score }))
}

/** The rarer a term, the more it says. */
function weigh(query: readonly string[], { count, having }: Statistics): number[] {
  // The count may be of a sample, see the store.
  const all = Math.max(count, ...having.values())
  return query.map((term) => {
    const n = having.get(term) ?? 0
    return Math.log(1 + (all - n + 0.5) / (n + 0.5))
  })
}

/** How often each term of the query is in the document, judged by its length. */
function frequencies(query: readonly string[], document: Document, { count, length }: Statistics): number[] {
  const counts = new Map<string, number>(query.map((term) => [term, 0]))
  for (const term of document.terms.split(' ')) {
    const n = counts.get(term)
    if (n !== undefined) counts.set(term, n + 1)
  }
  const relativeLength = length > 0 ? (document.length * count) / length : 1
  const norm = 1 - LENGTH_WEIGHT + LENGTH_WEIGHT * relativeLength
  return query.map((term) => (counts.get(term) as number) / norm)
}

function score(weights: number[], own: number[], beside: number[]): number {
  let sum = 0
  for (const [i, weight] of weights.entries()) {
    let frequency = own[i] as number
    // `beside` is the neighbours' frequencies one after the other.
    for (let j = i; j < beside.length; j += weights.length) frequency += NEIGHBOUR_WEIGHT * (beside[j] as number)
    if (frequency > 0) sum += (weight * frequency * (SATURATION + 1)) / (frequency + SATURATION)
  }
  return sum
}
