/**
 * The tokens of one or more requests to models. `cached_tokens` and `cache_write_tokens` are parts of the input, and
 * `reasoning_tokens` of the output. They are missing if no provider reported them.
 */
export type TokenCount = {
  input_tokens: number
  output_tokens: number
  cached_tokens?: number | undefined
  cache_write_tokens?: number | undefined
  reasoning_tokens?: number | undefined
}

export type Usage = TokenCount & { total_tokens: number }

export const NO_USAGE: Usage = { input_tokens: 0, output_tokens: 0, total_tokens: 0 }

/** The counts that not every provider reports. */
const PARTS = ['cached_tokens', 'cache_write_tokens', 'reasoning_tokens'] as const

export function addTokens(sum: Usage, more: TokenCount): Usage {
  const total: Usage = {
    input_tokens: sum.input_tokens + more.input_tokens,
    output_tokens: sum.output_tokens + more.output_tokens,
    total_tokens: sum.total_tokens + more.input_tokens + more.output_tokens,
  }
  for (const name of PARTS) {
    const [one, other] = [sum[name], more[name]]
    if (one !== undefined || other !== undefined) total[name] = (one ?? 0) + (other ?? 0)
  }
  return total
}

/** What was used since `before`. */
export function tokensSince(before: Usage, now: Usage): TokenCount {
  const since: TokenCount = {
    input_tokens: now.input_tokens - before.input_tokens,
    output_tokens: now.output_tokens - before.output_tokens,
  }
  for (const name of PARTS) {
    const count = now[name]
    if (count !== undefined) since[name] = count - (before[name] ?? 0)
  }
  return since
}

/** A cost in billionths of a dollar, so sums are exact. Null means that a price is unknown, never that it's free. */
export type Cost = number | null

/** Adds costs. A sum that is too large to be exact becomes the largest exact number. */
export function addCosts(one: Cost, other: Cost): Cost {
  return one === null || other === null ? null : Math.min(one + other, Number.MAX_SAFE_INTEGER)
}

export const NANO = 1e9

/** The cost in dollars, as in replies. */
export function usdOf(cost: Cost): number | null {
  return cost === null ? null : cost / NANO
}

const inFigures = new Intl.NumberFormat('en-US', { maximumSignificantDigits: 6, useGrouping: false })

/** The cost in dollars, as text. */
export function formatUsd(nano: number): string {
  return `$${inFigures.format(nano / NANO)}`
}

export function nanoOf(dollars: number): number {
  return Math.round(dollars * NANO)
}
