import { type ExhaustedBudget, SpendingRefused } from '../../runtime/models/meter.ts'
import { type Budget, saidAmount, stateOf } from '../budget.ts'
import type { ApplicableBudget } from './applies.ts'
import { isHeldByOthers, isTooMuch, type Shortfall } from './grant.ts'

type BudgetUse = ApplicableBudget & { used: number; reserved: number }

/** Calls in progress can release their reserved amounts at any moment. */
const SOON_MS = 1_000

/** Of several budgets without room, the one that has room last: retrying before that is useless. */
export function lastToOpen(lacking: readonly Shortfall<BudgetUse>[]): Shortfall<BudgetUse> {
  return lacking.reduce((last, one) => (opensAt(one) > opensAt(last) ? one : last))
}

/** Later than any time, because only a change of the budget makes room. */
const WHEN_CHANGED = Number.MAX_SAFE_INTEGER

function opensAt(lacking: Shortfall<BudgetUse>): number {
  if (isTooMuch(lacking)) return Number.POSITIVE_INFINITY
  return isHeldByOthers(lacking) ? 0 : (lacking.room.until ?? WHEN_CHANGED)
}

/** A budget has no room left. */
export function noRoom(lacking: Shortfall<BudgetUse>, now: number): SpendingRefused {
  const { room: met, wanted } = lacking
  const { budget, counter, used, reserved, until } = met
  const { subject } = counter
  const isHeld = isHeldByOthers(lacking)
  const of = subject ? ` of ${JSON.stringify(subject)}` : ''
  const held = reserved > 0 ? ` and ${saidAmount(budget, reserved)} reserved by calls in progress` : ''
  const amounts = `: ${saidAmount(budget, used)} of ${saidAmount(budget, budget.amount)} used${held}, and this call could need ${saidAmount(budget, wanted)}`
  const hint = isTooMuch(lacking) ? `, more than the whole budget. Lower the agent's limits.max_output_tokens` : ''
  const message = `${nameOf(budget)}${of} doesn't have enough left${isOfService(budget) ? ' for this call' : amounts}${hint}.`
  if (isTooMuch(lacking)) return new SpendingRefused(message, metOf(met))
  const opens = isHeld ? now + SOON_MS : (until ?? undefined)
  return new SpendingRefused(message, metOf(met), { until: opens, isHeld, state: stateOf(budget) })
}

/** A budget in dollars applies to a model with an unknown price. */
export function noPrice(met: BudgetUse, model: string): SpendingRefused {
  const message = `${nameOf(met.budget)} is in dollars, but the model ${JSON.stringify(model)} has no price. Set one with \`moorage prices set\`, or under \`prices\` in moorage.yaml.`
  return new SpendingRefused(message, metOf(met))
}

/** Projects can't see each other, so the message doesn't say what all of them have spent together. */
function isOfService({ project_id }: Budget): boolean {
  return project_id === null
}

function nameOf(budget: Budget): string {
  return isOfService(budget) ? 'A budget of the service' : `The budget ${JSON.stringify(budget.name)}`
}

function metOf({ budget, used }: BudgetUse): ExhaustedBudget {
  if (isOfService(budget)) return { budget_id: budget.id }
  return { budget_id: budget.id, used: saidAmount(budget, used), limit: saidAmount(budget, budget.amount) }
}
