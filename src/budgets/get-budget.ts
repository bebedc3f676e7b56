import { z } from 'zod'
import type { Needs } from '../operation/context.ts'
import { operation } from '../operation.ts'
import { BudgetParams, BudgetReply } from './budget.ts'
import { concernedAgent, getInReach, presentNow } from './budget-in-reach.ts'

export const getBudget = operation({
  id: 'getBudget',
  method: 'GET',
  path: '/v1/budgets/{budget_id}',
  summary: 'Get a budget',
  permission: 'manage',
  params: BudgetParams,
  query: z.strictObject({
    subject: z.string().optional().describe('A key or a user, if each of them has the limit for itself'),
  }),
  concerns: concernedAgent,
  data: BudgetReply,

  async run({ params, query }, { db, actor, now }: Needs<'db' | 'actor' | 'now'>) {
    return presentNow(db, await getInReach(db, actor, params.budget_id), now(), query.subject)
  },
})
