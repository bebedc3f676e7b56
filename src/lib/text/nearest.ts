/** Longer words aren't compared, because that would take long and no candidate is that long. */
const LONGEST = 100
/** The distance between two words if one begins with the other. A single mistake is closer than that. */
const BEGINNING = 1.5

/** The candidate that the reader most likely meant by `word`, if one is close enough. */
export function nearest(word: string, candidates: Iterable<string>): string | undefined {
  if (word.length > LONGEST) return undefined
  const wanted = plain(word)
  let best: string | undefined
  let bestDistance = Math.max(1, Math.floor(wanted.length / 3)) + 1
  for (const candidate of candidates) {
    const offered = plain(candidate)
    const distance = Math.min(editDistance(wanted, offered), isBeginning(wanted, offered) ? BEGINNING : wanted.length)
    if (distance < bestDistance) {
      best = candidate
      bestDistance = distance
    }
  }
  return best
}

const plain = (word: string) => word.toLowerCase().replaceAll(/[_-]/g, '')

/** For example `warn` and `warning`: one word begins with the other, and the shorter one is more than half as long. */
function isBeginning(one: string, other: string): boolean {
  const [short, long] = one.length < other.length ? [one, other] : [other, one]
  return short !== long && long.startsWith(short) && short.length * 2 > long.length
}

/** The number of insertions, deletions, replacements and swapped neighbours between `from` and `to`. */
function editDistance(from: string, to: string): number {
  let beforeLast: number[] = []
  let last = Array.from({ length: to.length + 1 }, (_, column) => column)
  for (let row = 1; row <= from.length; row++) {
    const current = [row]
    for (let column = 1; column <= to.length; column++) {
      const same = from[row - 1] === to[column - 1]
      let cost = Math.min(at(last, column) + 1, at(current, column - 1) + 1, at(last, column - 1) + (same ? 0 : 1))
      const swapped = from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1]
      if (swapped && row > 1 && column > 1) cost = Math.min(cost, at(beforeLast, column - 2) + 1)
      current.push(cost)
    }
    beforeLast = last
    last = current
  }
  return at(last, to.length)
}

const at = (row: readonly number[], column: number) => row[column] ?? Number.POSITIVE_INFINITY
