/**
 * One number of an instrument. Its name is the instrument's name; that of a histogram also has `_bucket`, `_sum` or
 * `_count`.
 */
export type Sample = { name: string; labels: Record<string, string>; value: number }

export type Reading = {
  name: string
  help: string
  type: 'counter' | 'gauge' | 'histogram'
  samples: Sample[]
}

export type Cell = { readonly values: readonly string[]; count: number }

/** Counts events. Each combination of label values has its own number, so there must be few combinations. */
export class Counter {
  readonly #name: string
  readonly #help: string
  readonly #labels: readonly string[]
  readonly #cells = new Map<string, Cell>()

  constructor(name: string, help: string, labels: readonly string[] = []) {
    this.#name = name
    this.#help = help
    this.#labels = labels
  }

  add(count: number, ...values: string[]): void {
    this.cell(...values).count += count
  }

  /** The number for these label values, for code that counts often. */
  cell(...values: string[]): Cell {
    const key = values.join('\n')
    let cell = this.#cells.get(key)
    if (!cell) {
      cell = { values, count: 0 }
      this.#cells.set(key, cell)
    }
    return cell
  }

  read(): Reading {
    const name = this.#name
    const samples = [...this.#cells.values()].map(({ values, count }) => ({
      name,
      labels: labelled(this.#labels, values),
      value: count,
    }))
    return { name, help: this.#help, type: 'counter', samples }
  }
}

/** How many owners a counter of the busiest names. */
const BUSIEST = 10

/** Counts by owner, of whom there may be thousands. It names the busiest since the start, so that there are few series. */
export class BusiestCounter {
  readonly #name: string
  readonly #help: string
  readonly #label: string
  readonly #counts = new Map<string, number>()

  constructor(name: string, help: string, label: string) {
    this.#name = name
    this.#help = help
    this.#label = label
  }

  add(owner: string): void {
    this.#counts.set(owner, (this.#counts.get(owner) ?? 0) + 1)
  }

  read(): Reading {
    const name = this.#name
    const samples = busiest(this.#counts).map(([owner, value]) => ({ name, labels: { [this.#label]: owner }, value }))
    return { name, help: this.#help, type: 'counter', samples }
  }
}

export function busiest(counts: Iterable<readonly [string, number]>): (readonly [string, number])[] {
  return [...counts].toSorted(([, one], [, other]) => other - one).slice(0, BUSIEST)
}

type Distribution = { values: string[]; counts: number[]; sum: number }

/** Counts sizes, in buckets. */
export class Buckets {
  readonly #name: string
  readonly #help: string
  /** The upper limits of the buckets, ascending. The last bucket has no limit. */
  readonly #ends: readonly number[]
  readonly #labels: readonly string[]
  readonly #found = new Map<string, Distribution>()

  constructor(name: string, help: string, ends: readonly number[], labels: readonly string[] = []) {
    this.#name = name
    this.#help = help
    this.#ends = ends
    this.#labels = labels
  }

  add(size: number, ...values: string[]): void {
    const key = values.join('\n')
    let distribution = this.#found.get(key)
    if (!distribution) {
      distribution = { values, counts: Array.from({ length: this.#ends.length + 1 }, () => 0), sum: 0 }
      this.#found.set(key, distribution)
    }
    let bucket = 0
    while (bucket < this.#ends.length && size > (this.#ends[bucket] as number)) bucket++
    distribution.counts[bucket] = (distribution.counts[bucket] as number) + 1
    distribution.sum += size
  }

  /** In the form of Prometheus: each bucket counts everything up to its limit. */
  read(): Reading {
    const name = this.#name
    const samples = [...this.#found.values()].flatMap(({ values, counts, sum }) => {
      const labels = labelled(this.#labels, values)
      let count = 0
      const buckets = counts.map((inBucket, index) => {
        count += inBucket
        const le = String(this.#ends[index] ?? '+Inf')
        return { name: `${name}_bucket`, labels: { ...labels, le }, value: count }
      })
      return [...buckets, { name: `${name}_sum`, labels, value: sum }, { name: `${name}_count`, labels, value: count }]
    })
    return { name, help: this.#help, type: 'histogram', samples }
  }
}

function labelled(names: readonly string[], values: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.map((name, index) => [name, values[index] ?? '']))
}
