import type { Config } from '../../config.ts'
import type { Prices } from '../../operation/project-snapshot.ts'
import type { Spender } from '../../operation/spending.ts'
import { type Budget, periodOf } from '../budget.ts'
import type { BudgetPeriod } from '../budget-period.ts'
import type { CounterKey } from './counter-store.ts'

/** A budget that applies to a call, and its counter in which the call is counted. */
export type ApplicableBudget = { budget: Budget; counter: CounterKey; until: number | null }

/** A budget in a node's memory, with its current period. */
export class CachedBudget {
  readonly budget: Budget
  #period: BudgetPeriod | undefined

  constructor(budget: Budget) {
    this.budget = budget
  }

  /** Undefined if the budget doesn't apply to this spending. */
  applied(spender: Spender, now: number): ApplicableBudget | undefined {
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

type SpentOn = { project_id: string; model: string; isReported?: boolean }

/**
 * Whether budgets of the service count this call. What a remote agent or a project's own provider reports could use up
 * the budget that all projects share. That a run was started is known without a report.
 */
export async function countsForService(
  { project_id, model, isReported = false }: SpentOn,
  { config, prices }: { config: Pick<Config, 'budgets'>; prices: Pick<Prices, 'isPaidByService'> },
): Promise<boolean> {
  if (config.budgets.countReportedUsage) return true
  return !isReported && prices.isPaidByService(project_id, model)
}

/** The key or user whose limit applies, if each has its own; otherwise empty. Undefined: the budget doesn't apply. */
function subjectOf({ scope_type, scope_id, agent_id }: Budget, spender: Spender): string | undefined {
  if (scope_type === 'service' || scope_type === 'project') return ''
  if (scope_type === 'agent') return agent_id === spender.agent_id ? '' : undefined
  const id = scope_type === 'key' ? spender.key_id : spender.user_id
  if (scope_id === null) return id ?? undefined
  return scope_id === id ? '' : undefined
}
