import { usdText } from '../../lib/text/format.ts'

/** Dollars. Without a price the cost is not known, which is not the same as nothing. */
export function Cost({ usd }: { usd: number | null }) {
  if (usd !== null) return <>{usdText(usd)}</>
  return (
    <span class="soft" title="The model has no price. Set one under Usage → Prices.">
      –
    </span>
  )
}
