import { z } from 'zod'
import { formatUsd, NANO } from '../runtime/models/usage.ts'
import { bareShape, Label, Time } from '../shapes.ts'
import type { RowWith, Tables } from '../storage/tables.ts'
import { type BudgetPeriod, Per, periodAt } from './budget-period.ts'

export const ScopeType = z.enum(['service', 'project', 'agent', 'key', 'user'])
const Action = z.enum(['refuse', 'notify'])

/** In billionths of a dollar, sums stay exact integers. */
const MOST_USD = 9_000_000
const MOST_TOKENS = 1_000_000_000_000_000

const Limit = z
  .strictObject({
    cost_usd: z.number().min(0.000001).max(MOST_USD).optional(),
    tokens: z.int().min(1).max(MOST_TOKENS).optional(),
    runs: z.int().min(1).max(MOST_TOKENS).optional(),
  })
  .refine((limit) => Object.keys(limit).length === 1, 'specify exactly one of `cost_usd`, `tokens` or `runs`')
  .describe('Exactly one of `cost_usd`, `tokens` or `runs`. Tokens are input plus output tokens')

const Thresholds = z
  .array(z.int().min(1).max(100))
  .max(10)
  .refine((list) => new Set(list).size === list.length, 'must not repeat a threshold')
  .transform((list) => list.toSorted((a, b) => a - b))
  .describe('Percentages of the limit at which the event `budget.threshold` is sent, once each per period')

const BudgetScope = z
  .strictObject({
    type: ScopeType,
    id: Label(256)
      .nullable()
      .default(null)
      .describe(
        'An agent (ID or name), a key or a user. Null with the scope `key` or `user` means that each key or user has its own limit',
      ),
  })
  .describe('Whose spending is limited')

const CHANGEABLE = {
  name: Label(200),
  limit: Limit,
  thresholds: Thresholds.default([50, 80, 100]),
  action: Action.default('refuse').describe(
    '`refuse`: calls that could exceed the limit are refused. `notify`: only events are sent',
  ),
}

export const BudgetParams = z.strictObject({ budget_id: z.string() })

export const CreateBudgetBody = z
  .strictObject({
    ...CHANGEABLE,
    scope: BudgetScope,
    per: Per.describe('When the budget resets: every hour, day or month, or never'),
    timezone: Label(100)
      .refine(isTimezone, 'must be an IANA time zone name such as Europe/Berlin')
      .default('UTC')
      .describe('The time zone in which days and months begin, such as `Europe/Berlin`'),
  })
  .meta({ id: 'CreateBudget' })

export const UpdateBudgetBody = z
  .strictObject(bareShape(CHANGEABLE))
  .partial()
  .refine((body) => Object.keys(body).length > 0, 'must contain at least one field to change')
  .meta({ id: 'UpdateBudget' })

const Spent = (what: string) => z.number().describe(`${what}, in the unit of the limit: dollars, tokens or runs`)

export const BudgetReply = z
  .object({
    id: z.string(),
    project_id: z.string().nullable().describe('null: the budget is for the whole service'),
    name: z.string(),
    scope: z.object({ type: ScopeType, id: z.string().nullable() }),
    limit: z.object({ cost_usd: z.number().optional(), tokens: z.int().optional(), runs: z.int().optional() }),
    per: Per,
    timezone: z.string(),
    thresholds: z.array(z.int()),
    action: Action,
    subject: z
      .string()
      .nullable()
      .describe('The key or user that these sums are for, if each has its own limit: the one that has used the most'),
    used: Spent('Spent in this period'),
    reserved: Spent('Reserved by calls in progress'),
    resets_at: Time.nullable().describe('When the budget resets; null: never'),
    warnings: z
      .array(z.string())
      .optional()
      .describe(
        'Why the budget refuses every call of a model or an agent, such as a model without a price. Not included in lists',
      ),
    created_by: z.string(),
    created_at: Time,
    updated_at: Time,
  })
  .meta({ id: 'Budget' })

export type LimitKind = 'cost_usd' | 'tokens' | 'runs'

/** A budget as it is stored. `amount` is in billionths of a dollar, in tokens or in runs. */
export type Budget = RowWith<
  Tables['budgets'],
  {
    scope_type: z.output<typeof ScopeType>
    limit_kind: LimitKind
    per: z.output<typeof Per>
    thresholds: number[]
    action: z.output<typeof Action>
  }
>

/** What was spent in one period: in total, or by one key or user if each has its own limit. */
export type SpentSums = { subject: string; used: number; reserved: number }

/** Whichever of the three is given. */
export function limitOf({ cost_usd, tokens, runs = 0 }: z.output<typeof Limit>): Pick<Budget, 'limit_kind' | 'amount'> {
  if (cost_usd !== undefined) return { limit_kind: 'cost_usd', amount: Math.round(cost_usd * NANO) }
  return tokens === undefined ? { limit_kind: 'runs', amount: runs } : { limit_kind: 'tokens', amount: tokens }
}

/** An amount as a reply contains it. */
export function shownAmount({ limit_kind }: Pick<Budget, 'limit_kind'>, amount: number): number {
  return limit_kind === 'cost_usd' ? amount / NANO : amount
}

/** An amount as text in a sentence. */
export function saidAmount({ limit_kind }: Pick<Budget, 'limit_kind'>, amount: number): string {
  if (limit_kind === 'cost_usd') return formatUsd(amount)
  return `${amount} ${amount === 1 ? limit_kind.slice(0, -1) : limit_kind}`
}

/** Whose spending it limits. A link's budget has its agent too. */
export function presentScope({ agent_id, scope_type: type, scope_id }: Budget): z.input<typeof BudgetReply>['scope'] {
  return { type, id: scope_id ?? agent_id }
}

export function presentBudget(
  stored: Budget,
  { subject, used, reserved }: SpentSums,
  { end }: BudgetPeriod,
): z.input<typeof BudgetReply> {
  const { agent_id: _agent, scope_type: _type, scope_id: _id, limit_kind, amount, ...budget } = stored
  const kind = { limit_kind }
  return {
    ...budget,
    scope: presentScope(stored),
    limit: { [limit_kind]: shownAmount(kind, amount) },
    subject: subject || null,
    used: shownAmount(kind, used),
    reserved: shownAmount(kind, reserved),
    resets_at: end,
  }
}

/** Each key or user has its own limit. */
export function hasSubjects({ scope_type, scope_id }: Pick<Budget, 'scope_type' | 'scope_id'>): boolean {
  return (scope_type === 'key' || scope_type === 'user') && scope_id === null
}

/** Names the current state of a budget. Each change gives it another name. */
export function stateOf({ id, updated_at }: Pick<Budget, 'id' | 'updated_at'>): string {
  return `${id}.${updated_at}`
}

/** The budget that a state belongs to. */
export function budgetOfState(state: string): string {
  return state.slice(0, state.indexOf('.'))
}

export function periodOf({ per, timezone }: Pick<Budget, 'per' | 'timezone'>, time: number): BudgetPeriod {
  return periodAt(per, timezone, time)
}

function isTimezone(name: string): boolean {
  try {
    new Date(0).toLocaleString('en', { timeZone: name })
    return true
  } catch {
    return false
  }
}
