/** A memory matches if it has all terms of at least one of the lists. */
export type Clauses = string[][]

const PAIRED_TERMS = 8

/**
 * The queries to send to an index, in this order, until `cap` memories are found. Rare terms decide the top of a
 * ranking, so they come first and without a limit. Memories that contain only common terms fill the remaining room:
 * first those with two such terms, then those with one.
 */
export function tiersOf(having: ReadonlyMap<string, number>, cap: number): Clauses[] {
  const byRarity = [...having].filter(([, n]) => n > 0).toSorted(([a, n], [b, m]) => n - m || (a < b ? -1 : 1))
  const rare: string[] = []
  let room = cap
  for (const [term, n] of byRarity) {
    room -= n
    if (room < 0) break
    rare.push(term)
  }
  const common = byRarity.slice(rare.length).map(([term]) => term)
  const paired = common.slice(0, PAIRED_TERMS)
  const pairs = paired.flatMap((term, i) => paired.slice(i + 1).map((other) => [term, other]))
  return [rare.map((term) => [term]), pairs, common.slice(0, 1).map((term) => [term])].filter(
    (clauses) => clauses.length > 0,
  )
}
