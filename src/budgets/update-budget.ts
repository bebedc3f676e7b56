import { invalid } from '../errors.ts'
import type { Needs } from '../operation/context.ts'
import { operation } from '../operation.ts'
import { BudgetParams, BudgetReply, limitOf, UpdateBudgetBody } from './budget.ts'
import { concernedAgent, getToChange, presentNow } from './budget-in-reach.ts'
import { warningsOf } from './budget-warnings.ts'
import { forgetTold } from './desk/counter-store.ts'
import * as budgets from './store.ts'

export const updateBudget = operation({
  id: 'updateBudget',
  method: 'PATCH',
  path: '/v1/budgets/{budget_id}',
  summary: 'Update a budget',
  description:
    'Changes only the fields you send; what was spent stays counted. To change the kind of limit, the scope or the period, create a new budget.',
  access: { permission: 'manage', concerns: concernedAgent },
  audit: { target: 'budget_id' },
  idempotent: true,
  input: { params: BudgetParams, body: UpdateBudgetBody },
  answer: { data: BudgetReply },

  async run(
    { params: { budget_id }, body },
    context: Needs<'db' | 'actor' | 'now' | 'config' | 'prices' | 'shownAgents'>,
  ) {
    const { db, actor, now } = context
    await budgets.lock(db, budget_id)
    const budget = await getToChange(db, actor, budget_id)
    const { limit_kind, amount } = body.limit ? limitOf(body.limit) : budget
    if (limit_kind !== budget.limit_kind) {
      throw invalid({
        field: 'limit',
        error: `can't change from ${budget.limit_kind} to another kind of limit; create a new budget`,
      })
    }
    const changes = {
      name: body.name ?? budget.name,
      amount,
      thresholds: body.thresholds ?? budget.thresholds,
      action: body.action ?? budget.action,
      // Always later than before, so that waiting runs notice each change.
      updated_at: Math.max(now(), budget.updated_at + 1),
    }
    await budgets.update(db, budget_id, changes)
    if (amount !== budget.amount) await forgetTold(db, budget_id)
    const changed = { ...budget, ...changes }
    return { ...(await presentNow(db, changed, now())), warnings: await warningsOf(changed, context) }
  },
})
