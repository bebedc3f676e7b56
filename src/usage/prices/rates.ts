import type { Price, Rates } from '../../operation/project-snapshot.ts'
import { costOf } from './cost-of.ts'

/** The rates of a request with that much input. */
export function ratesFor({ rates, tiers }: Price, input_tokens: number): Rates {
  return tiers.findLast(({ above }) => input_tokens > above) ?? rates
}

/** What the ledger keeps of them. Made once for each, because every line has it. */
const written = new WeakMap<Rates, string>()

export function priceText(price: Price, rates: Rates): string {
  const known = written.get(rates)
  if (known !== undefined) return known
  const { input, cached_input, output, reasoning, request } = rates
  const { source, version } = price
  const text = JSON.stringify({ source, version, input, cached_input, output, reasoning, request })
  written.set(rates, text)
  return text
}

/** The most that a request may cost, whichever kinds of tokens it has. It may have less input than that, at other rates. */
export function mostCostOf({ rates, tiers }: Price, input_tokens: number, output_tokens: number): number {
  const reached = [rates, ...tiers.filter(({ above }) => input_tokens > above)]
  const costs = reached.map(({ input, cached_input, output, reasoning, request }) => {
    const most = { input: Math.max(input, cached_input), output: Math.max(output, reasoning) }
    return costOf({ ...most, cached_input, reasoning, request }, { input_tokens, output_tokens }, 'completed')
  })
  return Math.max(...costs)
}
