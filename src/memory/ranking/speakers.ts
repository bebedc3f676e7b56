/** The speakers by number. A name is the list of its marked terms. */
export class Speakers {
  readonly #numbers = new Map<string, number>()
  /** For each term, the speakers who have it in their name. */
  readonly #bearing = new Map<string, Set<number>>()

  numberOf(name: readonly string[]): number {
    const key = name.join(' ')
    const known = this.#numbers.get(key)
    if (known !== undefined) return known
    const number = this.#numbers.size
    this.#numbers.set(key, number)
    for (const term of name) {
      const bearing = this.#bearing.get(term)
      if (bearing) bearing.add(number)
      else this.#bearing.set(term, new Set([number]))
    }
    return number
  }

  /** The speakers whose names contain most of these terms. */
  named(terms: readonly string[]): number[] {
    const counts = new Map<number, number>()
    for (const term of terms) {
      for (const number of this.#bearing.get(term) ?? []) counts.set(number, (counts.get(number) ?? 0) + 1)
    }
    let most = 0
    for (const count of counts.values()) most = Math.max(most, count)
    return [...counts].filter(([, count]) => count === most).map(([number]) => number)
  }
}
