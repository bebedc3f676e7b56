import type { Price, Rates } from '../../operation/project-snapshot.ts'
import type { CallStatus } from '../../runtime/models/meter.ts'
import type { TokenCount } from '../../runtime/models/usage.ts'

/** The rates of a request with that much input. */
export function ratesFor({ rates, tiers }: Price, input_tokens: number): Rates {
  return tiers.findLast(({ above }) => input_tokens > above) ?? rates
}

/** What the ledger stores of them. Made once for each, because every line has it. */
const written = new WeakMap<Rates, string>()

export function priceText(price: Price, rates: Rates): string {
  const known = written.get(rates)
  if (known !== undefined) return known
  const { input, cached_input, cache_write, output, reasoning, request } = rates
  const { source, version } = price
  const text = JSON.stringify({ source, version, input, cached_input, cache_write, output, reasoning, request })
  written.set(rates, text)
  return text
}

/**
 * The most that a request can cost, whatever kinds of tokens it has. It may have less input than that, at other rates.
 */
export function mostCostOf({ rates, tiers }: Price, input_tokens: number, output_tokens: number): number {
  const reached = [rates, ...tiers.filter(({ above }) => input_tokens > above)]
  const costs = reached.map((known) => {
    const input = Math.max(known.input, known.cached_input, known.cache_write)
    const output = Math.max(known.output, known.reasoning)
    return costOf({ ...known, input, output }, { input_tokens, output_tokens }, 'completed')
  })
  return Math.max(...costs)
}

/** A trillionth of a dollar: a million tokens for a dollar are a million of them for each token. */
const PICO = 1e12
const PICO_PER_TOKEN = 1e6
const PICO_PER_NANO = 1_000

/**
 * In billionths of a dollar. Rates become whole numbers first and the sum is rounded once, so nothing is lost or gained
 * however many lines are added. A request that wasn't answered at all isn't charged.
 */
export function costOf(rates: Rates, tokens: TokenCount, status: CallStatus): number {
  const { input_tokens, output_tokens } = tokens
  const cached = Math.min(tokens.cached_tokens ?? 0, input_tokens)
  const cacheWritten = Math.min(tokens.cache_write_tokens ?? 0, input_tokens - cached)
  const reasoning = Math.min(tokens.reasoning_tokens ?? 0, output_tokens)
  const pico =
    (input_tokens - cached - cacheWritten) * perToken(rates.input) +
    cached * perToken(rates.cached_input) +
    cacheWritten * perToken(rates.cache_write) +
    (output_tokens - reasoning) * perToken(rates.output) +
    reasoning * perToken(rates.reasoning) +
    (status === 'completed' || input_tokens + output_tokens > 0 ? Math.round(rates.request * PICO) : 0)
  return Math.min(Math.round(pico / PICO_PER_NANO), Number.MAX_SAFE_INTEGER)
}

function perToken(rate: number): number {
  return Math.round(rate * PICO_PER_TOKEN)
}
