import type { Budget } from '../../../sdk/client.ts'
import { countText, usdText } from '../../lib/text/format.ts'

export type LimitKind = 'cost_usd' | 'tokens' | 'runs'

export function kindOf({ limit }: Budget): LimitKind {
  if (limit.cost_usd !== undefined) return 'cost_usd'
  return limit.tokens === undefined ? 'runs' : 'tokens'
}

export function limitOf(budget: Budget): number {
  return budget.limit[kindOf(budget)] ?? 0
}

/** An amount in dollars, or the number of tokens or runs. */
export function amountText(kind: LimitKind, amount: number): string {
  return kind === 'cost_usd' ? usdText(amount) : countText(amount)
}

export const PERIODS: Record<Budget['per'], string> = {
  hour: 'per hour',
  day: 'per day',
  month: 'per month',
  ever: 'in total',
}

/** Whose spending counts. */
export function scopeText({ scope: { type, id } }: Budget, nameOf: (column: string, value: string) => string): string {
  if (type === 'service') return 'the whole service'
  if (type === 'project') return 'this project'
  if (id === null) return `each ${type} separately`
  return `${type} ${nameOf(`${type}_id`, id)}`
}
