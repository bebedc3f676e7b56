import type { Budget } from '../../../sdk/client.ts'
import { percentText } from '../../lib/text/format.ts'
import { amountText, kindOf, limitOf } from './budget-text.ts'

const NEARLY = 0.8

/** Shows what is used, what calls in progress hold, and what is left. Notches mark the thresholds. */
export function BudgetBar({ budget }: { budget: Budget }) {
  const { used, reserved, thresholds, subject } = budget
  const [kind, limit] = [kindOf(budget), limitOf(budget)]
  const share = (amount: number) => `${Math.min((100 * amount) / limit, 100)}%`
  const look = used >= limit ? 'bad' : used >= NEARLY * limit ? 'warn' : ''
  return (
    <div class="budget">
      <div
        class={`budget-bar ${look}`}
        role="img"
        aria-label={`${percentText(used, limit)} used, ${percentText(reserved, limit)} reserved`}
      >
        <i style={{ width: share(used) }} />
        <i class="held" style={{ width: share(Math.min(reserved, Math.max(limit - used, 0))) }} />
        {thresholds
          .filter((percent) => percent < 100)
          .map((percent) => (
            <b key={percent} style={{ left: `${percent}%` }} title={`${percent}%`} />
          ))}
      </div>
      <span>
        {amountText(kind, used)} of {amountText(kind, limit)} {kind !== 'cost_usd' && kind}
        {reserved > 0 && <span class="soft"> · {amountText(kind, reserved)} reserved</span>}
        {subject !== null && <span class="soft"> · highest: {subject}</span>}
      </span>
    </div>
  )
}
