import type { OperationId } from '../../../sdk/call.ts'
import { href } from '../../lib/base.ts'
import { asLeft, here } from '../../lib/location.ts'
import { may } from '../../lib/session-state.ts'

const TABS: { to: string; label: string; needs: OperationId }[] = [
  { to: '/usage', label: 'Usage', needs: 'getUsage' },
  { to: '/usage/budgets', label: 'Budgets', needs: 'listBudgets' },
  { to: '/usage/prices', label: 'Prices', needs: 'listPrices' },
]

/** What was spent, what can be spent, and what models cost. */
export function UsageTabs() {
  const shown = TABS.filter(({ needs }) => may(needs))
  if (shown.length < 2) return null
  return (
    <nav class="tabs" aria-label="Usage">
      {shown.map(({ to, label }) => (
        <a
          key={to}
          href={href(asLeft(to))}
          aria-current={here.value.path === to ? 'page' : undefined}
          data-label={label}
        >
          {label}
        </a>
      ))}
    </nav>
  )
}
