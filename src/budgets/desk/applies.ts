import type { Spender } from '../../operation/spending.ts'
import { type Budget, periodOf } from '../budget.ts'
import type { BudgetPeriod } from '../budget-period.ts'
import type { CounterKey } from './counter-store.ts'

/** A budget that is over a call, and the counter of it in which the call is counted. */
export type Applied = { budget: Budget; counter: CounterKey; until: number | null }

/** A budget as nodes keep it in memory, with the period that it is in. */
export class KnownBudget {
  readonly budget: Budget
  #period: BudgetPeriod | undefined

  constructor(budget: Budget) {
    this.budget = budget
  }

  /** Undefined if it is not over this spending. */
  applied(spender: Spender, now: number): Applied | undefined {
    const subject = subjectOf(this.budget, spender)
    if (subject === undefined) return undefined
    const { start: period_start, end: until } = this.#periodAt(now)
    return { budget: this.budget, counter: { budget_id: this.budget.id, subject, period_start }, until }
  }

  #periodAt(now: number): BudgetPeriod {
    const known = this.#period
    if (known && known.start <= now && (known.end === null || now < known.end)) return known
    this.#period = periodOf(this.budget, now)
    return this.#period
  }
}

/** Whose the spending is, if each key or user has the limit for itself; else empty. Undefined: it does not count. */
function subjectOf({ scope_type, scope_id, agent_id }: Budget, spender: Spender): string | undefined {
  if (scope_type === 'service' || scope_type === 'project') return ''
  if (scope_type === 'agent') return agent_id === spender.agent_id ? '' : undefined
  const id = scope_type === 'key' ? spender.key_id : spender.user_id
  if (scope_id === null) return id ?? undefined
  return scope_id === id ? '' : undefined
}
