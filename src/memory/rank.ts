/** Turns are short and many, notes are written to be found: each kind is measured against its own. */
export type Collection = 'turn' | 'note'

/** What BM25 must know of a collection: how many memories, how many terms in all, and how many memories have a term. */
export type Statistics = { count: number; length: number; having: Map<string, number> }

/** A memory that shares a term with the query. */
export type Document = {
  seq: number
  collection: Collection
  /** Parted by spaces. */
  terms: string
  length: number
  /** Of a turn: those right before and after it in its session, and those next to them. */
  near: number[]
  further: number[]
}

export type Ranked = { seq: number; score: number }

const SATURATION = 1.2
const LENGTH_WEIGHT = 0.75
/** What a term counts for the turns next to the one that has it, and for those next to them: the same speaker's. */
const NEAR_WEIGHT = 0.3
const FURTHER_WEIGHT = 0.15
/** A handful of memories says little about how rare a word is. */
const LEAST_COUNT = 100
/** The BM25 at which words alone score one half. */
const HALF = 8
const WORDS_WEIGHT = 0.7

/**
 * BM25 by seq. A term counts for the memory that has it and, lighter, for the turns around it, because an answer rarely
 * repeats the words of its question: memories that are not among the documents can score too.
 */
export function scoreWords(
  query: readonly string[],
  documents: readonly Document[],
  statistics: Readonly<Record<Collection, Statistics>>,
): Map<number, number> {
  const found = new Map<number, { collection: Collection; frequencies: number[] }>()
  const add = (seq: number, collection: Collection, frequencies: number[], weight: number) => {
    const known = found.get(seq)
    const sum = known?.frequencies ?? frequencies.map(() => 0)
    for (let i = 0; i < sum.length; i++) sum[i] = (sum[i] as number) + weight * (frequencies[i] as number)
    if (!known) found.set(seq, { collection, frequencies: sum })
  }
  for (const document of documents) {
    const { seq, collection, near, further } = document
    const frequencies = frequenciesIn(document, query, statistics[collection])
    add(seq, collection, frequencies, 1)
    for (const turn of near) add(turn, 'turn', frequencies, NEAR_WEIGHT)
    for (const turn of further) add(turn, 'turn', frequencies, FURTHER_WEIGHT)
  }
  const weights = { turn: weigh(query, statistics.turn), note: weigh(query, statistics.note) }
  return new Map([...found].map(([seq, { collection, frequencies }]) => [seq, sumOf(weights[collection], frequencies)]))
}

/**
 * Best first, the newer of equals before the older. Scores are above 0 and at most 1. `similarity` is the cosine to the
 * query, where an embedder is in use.
 */
export function rank(words: ReadonlyMap<number, number>, similarity?: ReadonlyMap<number, number>): Ranked[] {
  const score = (seq: number) => {
    const bm25 = words.get(seq) ?? 0
    const byWords = bm25 / (bm25 + HALF)
    if (!similarity) return byWords
    return WORDS_WEIGHT * byWords + (1 - WORDS_WEIGHT) * Math.max(0, similarity.get(seq) ?? 0)
  }
  const seqs = new Set([...words.keys(), ...(similarity?.keys() ?? [])])
  return [...seqs]
    .map((seq) => ({ seq, score: Math.round(score(seq) * 1e6) / 1e6 }))
    .filter((hit) => hit.score > 0)
    .toSorted((a, b) => b.score - a.score || b.seq - a.seq)
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

function sumOf(weights: number[], frequencies: number[]): number {
  let sum = 0
  for (const [i, weight] of weights.entries()) {
    const frequency = frequencies[i] as number
    if (frequency > 0) sum += (weight * frequency * (SATURATION + 1)) / (frequency + SATURATION)
  }
  return sum
}
