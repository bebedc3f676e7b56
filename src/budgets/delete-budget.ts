import { z } from 'zod'
import { operation } from '../operation.ts'
import { BudgetParams } from './budget.ts'
import { concernedAgent, getToChange } from './budget-in-reach.ts'
import * as budgets from './store.ts'

export const deleteBudget = operation({
  id: 'deleteBudget',
  method: 'DELETE',
  path: '/v1/budgets/{budget_id}',
  summary: 'Delete a budget',
  description: 'The budget no longer limits anything. Usage records are kept.',
  access: { permission: 'manage', concerns: concernedAgent },
  audit: { target: 'budget_id' },
  input: { params: BudgetParams },
  answer: { data: z.object({ id: z.string(), deleted: z.literal(true) }) },

  async run({ params: { budget_id: id } }, { db, actor }) {
    await getToChange(db, actor, id)
    await budgets.remove(db, id)
    return { id, deleted: true as const }
  },
})
