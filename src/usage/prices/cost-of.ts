import type { Rates } from '../../operation/project-snapshot.ts'
import type { CallStatus } from '../../runtime/models/meter.ts'
import type { TokenCount } from '../../runtime/models/usage.ts'

/** A trillionth of a dollar: a million tokens for a dollar are a million of them for each token. */
const PICO = 1e12
const PICO_PER_TOKEN = 1e6
const PICO_PER_NANO = 1_000

/**
 * In billionths of a dollar. Rates become whole numbers first and the sum is rounded once, so that nothing is lost or
 * gained however many lines are added up. A request that was not answered at all is not charged as one.
 */
export function costOf(rates: Rates, tokens: TokenCount, status: CallStatus): number {
  const { input_tokens, output_tokens } = tokens
  const cached = Math.min(tokens.cached_tokens ?? 0, input_tokens)
  const reasoning = Math.min(tokens.reasoning_tokens ?? 0, output_tokens)
  const pico =
    (input_tokens - cached) * perToken(rates.input) +
    cached * perToken(rates.cached_input) +
    (output_tokens - reasoning) * perToken(rates.output) +
    reasoning * perToken(rates.reasoning) +
    (status === 'completed' || input_tokens + output_tokens > 0 ? Math.round(rates.request * PICO) : 0)
  return Math.min(Math.round(pico / PICO_PER_NANO), Number.MAX_SAFE_INTEGER)
}

function perToken(rate: number): number {
  return Math.round(rate * PICO_PER_TOKEN)
}
