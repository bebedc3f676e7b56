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
  before: number | null
  after: number | null
}

export type Ranked = { seq: number; score: number }

const SATURATION = 1.2
const LENGTH_WEIGHT = 0.75
/** What a term counts in the turns next to a memory, and in those next to them: the same speaker's. */
const NEIGHBOUR_WEIGHTS = [0.3, 0.15]
/** A handful of memories says little about how rare a word is. */
const LEAST_COUNT = 100
/** The BM25 at which a hit scores one half. */
const HALF = 8
const LEXICAL_WEIGHT = 0.7

/**
 * Best first, with scores above 0 and up to 1. Words are weighed by BM25: a term counts in the memory itself and, lighter,
 * in the turns around it, because an answer rarely repeats the words of its question. `similarity` is the cosine to the
 * query, if an embedder is in use.
 */
export function rank(
  query: readonly string[],
  documents: ReadonlyMap<number, Document>,
  statistics: Readonly<Record<Collection, Statistics>>,
  similarity?: ReadonlyMap<number, number>,
): Ranked[] {
  const weights = { turn: weigh(query, statistics.turn), note: weigh(query, statistics.note) }
  const found = new Map<number, number[]>()
  for (const document of documents.values()) {
    found.set(document.seq, frequenciesIn(document, query, statistics[document.collection]))
  }
  const scored = [...documents.values()].map((document) => {
    const sum = [...(found.get(document.seq) as number[])]
    for (const { seq, weight } of around(document, documents)) {
      for (const [i, frequency] of (found.get(seq) as number[]).entries())
        sum[i] = (sum[i] as number) + weight * frequency
    }
    const bm25 = score(weights[document.collection], sum)
    const lexical = bm25 / (bm25 + HALF)
    const blended = similarity
      ? LEXICAL_WEIGHT * lexical + (1 - LEXICAL_WEIGHT) * Math.max(0, similarity.get(document.seq) ?? 0)
      : lexical
    return { seq: document.seq, created_at: document.created_at, score: Math.round(blended * 1e6) / 1e6 }
  })
  return scored
    .filter((hit) => hit.score > 0)
    .toSorted((a, b) => b.score - a.score || b.created_at - a.created_at || b.seq - a.seq)
    .map((hit) => ({ seq: hit.seq, score: hit.score }))
}

/** The rarer a term, the more it says. */
function weigh(query: readonly string[], { count, having }: Statistics): number[] {
  // The count may be that of a sample.
  const all = Math.max(count, LEAST_COUNT, ...having.values())
  return query.map((term) => {
    const n = having.get(term) ?? 0
    return Math.log(1 + (all - n + 0.5) / (n + 0.5))
  })
}

/** How often each term of the query is in the document, judged by its length. */
function frequenciesIn(document: Document, query: readonly string[], { count, length }: Statistics): number[] {
  const counts = new Map<string, number>(query.map((term) => [term, 0]))
  for (const term of document.terms.split(' ')) {
    const n = counts.get(term)
    if (n !== undefined) counts.set(term, n + 1)
  }
  const relativeLength = length > 0 ? (document.length * count) / length : 1
  const norm = 1 - LENGTH_WEIGHT + LENGTH_WEIGHT * relativeLength
  return query.map((term) => (counts.get(term) as number) / norm)
}

/** The turns around one, as far as they are among the documents: others share no term with the query. */
function around(document: Document, documents: ReadonlyMap<number, Document>): { seq: number; weight: number }[] {
  return (['before', 'after'] as const).flatMap((side) => {
    const turns: { seq: number; weight: number }[] = []
    let next: Document | undefined = document
    for (const weight of NEIGHBOUR_WEIGHTS) {
      const seq: number | null = next[side]
      next = seq === null ? undefined : documents.get(seq)
      if (!next) break
      turns.push({ seq: next.seq, weight })
    }
    return turns
  })
}

function score(weights: number[], frequencies: number[]): number {
  let sum = 0
  for (const [i, weight] of weights.entries()) {
    const frequency = frequencies[i] as number
    if (frequency > 0) sum += (weight * frequency * (SATURATION + 1)) / (frequency + SATURATION)
  }
  return sum
}
