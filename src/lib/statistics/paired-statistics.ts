/** A value with the bounds of its 95 % interval. */
export type Bounded = { value: number; low: number; high: number }

/** The 97.5 % quantile of the normal distribution. */
const Z = 1.959963984540054
const RESAMPLES = 2_000
/** Equal input has an equal result, so the resamples are always drawn in the same way. */
const SEED = 0x9e3779b9

/** The share of successes with Wilson's interval. Undefined if nothing was tried. */
export function wilson(successes: number, tried: number): Bounded | undefined {
  if (tried === 0) return undefined
  const share = successes / tried
  const spread = Z ** 2 / tried
  const middle = (share + spread / 2) / (1 + spread)
  const half = (Z / (1 + spread)) * Math.sqrt((share * (1 - share) + spread / 4) / tried)
  // At the ends the bounds are exact, and rounding must not move them.
  const low = successes === 0 ? 0 : Math.max(0, middle - half)
  const high = successes === tried ? 1 : Math.min(1, middle + half)
  return { value: share, low, high }
}

/**
 * The exact test of McNemar, two-sided: how probable a difference like this is if pairs that changed were as likely to
 * get worse as to get better. Pairs that are alike don't count.
 */
export function mcNemar(worse: number, better: number): number {
  const changed = worse + better
  if (changed === 0) return 1
  let sum = 0
  // Logarithms, because the terms are too small for large numbers otherwise.
  let term = -changed * Math.LN2
  for (let k = 0; k <= Math.min(worse, better); k++) {
    sum += Math.exp(term)
    term += Math.log(changed - k) - Math.log(k + 1)
  }
  return Math.min(1, 2 * sum)
}

/** The mean of paired differences with the interval of a bootstrap. Undefined without pairs. */
export function bootstrapMean(differences: readonly number[]): Bounded | undefined {
  const count = differences.length
  if (count === 0) return undefined
  const random = randomFrom(SEED)
  const means = new Float64Array(RESAMPLES)
  for (let i = 0; i < RESAMPLES; i++) {
    let sum = 0
    for (let k = 0; k < count; k++) sum += differences[Math.floor(random() * count)] as number
    means[i] = sum / count
  }
  means.sort()
  const value = differences.reduce((sum, one) => sum + one, 0) / count
  return { value, low: quantile(means, 0.025), high: quantile(means, 0.975) }
}

/** The value below which this share of the sorted values is, between two of them in proportion. */
function quantile(sorted: Float64Array, share: number): number {
  const at = (sorted.length - 1) * share
  const below = sorted[Math.floor(at)] as number
  const above = sorted[Math.ceil(at)] as number
  return below + (above - below) * (at - Math.floor(at))
}

/** The middle value. Undefined without values. */
export function median(values: readonly number[]): number | undefined {
  return values.length === 0 ? undefined : quantile(Float64Array.from(values).toSorted(), 0.5)
}

/** How a pair has changed, and the groups that it belongs to. */
export type SlicedPair = { slices: readonly string[]; change: 'worse' | 'better' | 'same' }

export type Slice = { slice: string; pairs: number; worse: number; better: number }

/** The groups that got worse, the worst first: by how many more of their pairs got worse than better. */
export function worstSlices(pairs: readonly SlicedPair[], most: number): Slice[] {
  const found = new Map<string, Slice>()
  for (const { slices, change } of pairs) {
    for (const slice of new Set(slices)) {
      const sum = found.get(slice) ?? { slice, pairs: 0, worse: 0, better: 0 }
      sum.pairs += 1
      if (change !== 'same') sum[change] += 1
      found.set(slice, sum)
    }
  }
  return [...found.values()]
    .filter(({ worse, better }) => worse > better)
    .toSorted(
      (a, b) =>
        b.worse - b.better - (a.worse - a.better) ||
        (b.worse - b.better) / b.pairs - (a.worse - a.better) / a.pairs ||
        (a.slice < b.slice ? -1 : 1),
    )
    .slice(0, most)
}

/** Numbers from 0 to 1 that look random, always the same ones for a seed (mulberry32). */
function randomFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}
