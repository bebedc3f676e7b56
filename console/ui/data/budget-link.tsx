import { href } from '../../lib/base.ts'
import { may } from '../../lib/session-state.ts'

type Detail = { field: string; error: string }

/** A link to the budget that refused a call. Nothing if the refusal had another cause. */
export function BudgetLink({ details = [] }: { details?: readonly Detail[] | undefined }) {
  const id = details.find(({ field }) => field === 'budget_id')?.error
  if (id === undefined || !may('getBudget')) return null
  return <a href={href(`/usage/budgets?budget=${encodeURIComponent(id)}`)}>Open budget</a>
}
