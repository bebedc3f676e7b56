/** In billionths of a dollar, so that sums are exact. Null if a price is not known: that is never taken for free. */
export type Cost = number | null

/** What is more than an exact number can say is stored as the largest one. */
export function addCosts(one: Cost, other: Cost): Cost {
  return one === null || other === null ? null : Math.min(one + other, Number.MAX_SAFE_INTEGER)
}

export const NANO = 1e9

/** In dollars, as replies show it. */
export function usdOf(cost: Cost): number | null {
  return cost === null ? null : cost / NANO
}

const inFigures = new Intl.NumberFormat('en-US', { maximumSignificantDigits: 6, useGrouping: false })

/** In dollars, in a sentence. */
export function formatUsd(nano: number): string {
  return `$${inFigures.format(nano / NANO)}`
}

export function nanoOf(dollars: number): number {
  return Math.round(dollars * NANO)
}
