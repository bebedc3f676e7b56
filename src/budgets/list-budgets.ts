import { operation } from '../operation.ts'
import { listQuery } from '../shapes.ts'
import { BudgetReply, ScopeType } from './budget.ts'
import { presentNow } from './budget-in-reach.ts'
import * as budgets from './store.ts'

export const listBudgets = operation({
  id: 'listBudgets',
  method: 'GET',
  path: '/v1/budgets',
  summary: 'List budgets',
  description:
    "Lists this project's budgets with what was spent in the current period. With access to all projects, budgets of the service are included.",
  access: { permission: 'manage' },
  input: { query: listQuery(['created_at', 'updated_at', 'name', 'id'], { scope: ScopeType.optional() }) },
  answer: { list: BudgetReply },

  async run({ query }, { db, actor, shownAgents, now }) {
    const { scope: scope_type, ...page } = query
    const filter = { shown: await shownAgents(), reach: actor.reach, scope_type }
    const { items, total } = await budgets.list(db, page, filter)
    return { items: await Promise.all(items.map((budget) => presentNow(db, budget, now()))), total }
  },
})
