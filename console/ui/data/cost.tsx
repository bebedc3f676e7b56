import { usdText } from '../../lib/text/format.ts'

/** A cost in dollars. Without a price, the cost is unknown, which isn't the same as zero. */
export function Cost({ usd }: { usd: number | null }) {
  if (usd !== null) return <>{usdText(usd)}</>
  return (
    <span class="soft" title="The model has no price. Set one under Usage → Prices.">
      –
    </span>
  )
}
