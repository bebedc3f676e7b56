import type { Price, Rates } from '../../operation/price.ts'

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
