import { z } from 'zod'
import { invalid } from '../errors.ts'
import type { Needs } from '../operation/context.ts'
import { operation } from '../operation.ts'
import { BudgetParams, BudgetReply, hasSubjects } from './budget.ts'
import { concernedAgent, getInReach, presentNow } from './budget-in-reach.ts'
import { warningsOf } from './budget-warnings.ts'

export const getBudget = operation({
  id: 'getBudget',
  method: 'GET',
  path: '/v1/budgets/{budget_id}',
  summary: 'Get a budget',
  description: 'If each key or user has its own limit, `subject` selects whose usage is returned.',
  access: { permission: 'manage', concerns: concernedAgent },
  input: {
    params: BudgetParams,
    query: z.strictObject({
      subject: z.string().optional().describe('A key or user, if each has its own limit'),
    }),
  },
  answer: { data: BudgetReply },

  async run({ params, query }, context: Needs<'db' | 'actor' | 'now' | 'config' | 'prices' | 'shownAgents'>) {
    const { db, actor, now } = context
    const budget = await getInReach(db, actor, params.budget_id)
    if (query.subject && !hasSubjects(budget)) {
      throw invalid({
        field: 'subject',
        error: 'is only allowed for budgets in which each key or user has its own limit',
      })
    }
    const shown = await presentNow(db, budget, now(), query.subject || undefined)
    return { ...shown, warnings: await warningsOf(budget, context) }
  },
})
