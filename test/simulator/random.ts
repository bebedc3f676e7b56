/** The same numbers for the same seed, on every machine. */
export type Random = {
  /** From 0, below 1. */
  next(): number
  below(count: number): number
  of<T>(things: readonly T[]): T
  chance(share: number): boolean
}

/** Mulberry32. */
export function randomOf(seed: number): Random {
  let state = seed >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = Math.imul(state ^ (state >>> 15), state | 1)
    t = (t + Math.imul(t ^ (t >>> 7), t | 61)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }
  const below = (count: number) => Math.floor(next() * count)
  return {
    next,
    below,
    of: <T>(things: readonly T[]) => things[below(things.length)] as T,
    chance: (share) => next() < share,
  }
}
