import type { Self } from '../../../sdk/client.ts'
import { useResource } from '../../lib/resource.ts'
import { service } from '../../lib/service.ts'
import { countText } from '../../lib/text/format.ts'

/** What the reader's own key may give to keys that it makes. */
export function useSelf() {
  return useResource('self', (signal) => service.keys.self({ signal }))
}

/** `pro: 1,000 requests a minute, 2,000 at once`; the name alone where the rates are not known. */
export function tierText(tier: string, self: Self | undefined): string {
  const rates = self?.tiers.find(({ name }) => name === tier)
  if (!rates) return tier
  return `${tier}: ${countText(rates.requests_per_minute)} requests a minute, ${countText(rates.burst)} at once`
}
