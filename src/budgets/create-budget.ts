import type { z } from 'zod'
import * as agents from '../agents/store.ts'
import { invalid } from '../errors.ts'
import * as keys from '../keys/store.ts'
import type { Actor } from '../operation/actor.ts'
import type { Needs } from '../operation/context.ts'
import { isInReach, requireScope, requireService } from '../operation/scope.ts'
import { operation } from '../operation.ts'
import type { Database } from '../storage/database.ts'
import { type Budget, BudgetReply, CreateBudgetBody, limitOf } from './budget.ts'
import { presentNow } from './budget-in-reach.ts'
import { warningsOf } from './budget-warnings.ts'
import { insertBudget } from './insert-budget.ts'

export const createBudget = operation({
  id: 'createBudget',
  method: 'POST',
  path: '/v1/budgets',
  summary: 'Create a budget',
  description:
    "Limits spending on model and embedder calls. Each call first reserves the most it could use in every budget that applies; when it ends, its actual usage is counted. A call that doesn't fit in a budget is refused with 429 `budget_exceeded`. Earlier spending is not counted. The scope `service` requires access to all projects.",
  access: {
    permission: 'manage',
    concerns: async ({ body: { scope } }) => (scope.type === 'agent' ? scope.id : null),
  },
  audit: { target: 'reply' },
  idempotent: true,
  input: { body: CreateBudgetBody },
  answer: { status: 201, data: BudgetReply, errors: ['conflict'] },

  async run({ body }, context: Needs<'db' | 'actor' | 'newId' | 'now' | 'config' | 'prices' | 'shownAgents'>) {
    const { db, actor, newId, now } = context
    const { scope, limit, ...asked } = body
    const owned = await ownedBy(db, actor, scope)
    requireScope(actor, owned.agent_id)
    const time = now()
    const budget = {
      ...asked,
      ...owned,
      ...limitOf(limit),
      id: newId('bud', time),
      scope_type: scope.type,
      created_by: actor.id,
      created_at: time,
      updated_at: time,
    }
    await insertBudget(db, budget)
    return { ...(await presentNow(db, budget, time)), warnings: await warningsOf(budget, context) }
  },
})

type BudgetOwner = Pick<Budget, 'project_id' | 'agent_id' | 'scope_id'>

/** Checks that everything the scope names is in the actor's project. */
async function ownedBy(
  db: Database,
  actor: Actor,
  { type, id }: z.output<typeof CreateBudgetBody>['scope'],
): Promise<BudgetOwner> {
  const { project_id } = actor.scope
  const none = { agent_id: null, scope_id: null }
  const refuse = (error: string) => invalid({ field: 'scope.id', error })
  if (type === 'service') {
    requireService(actor)
    if (id !== null) throw refuse('must be left out when the scope is `service`')
    return { ...none, project_id: null }
  }
  if (type === 'project') {
    if (id !== null && id !== project_id) throw refuse('is another project; create the budget in that project')
    return { ...none, project_id }
  }
  if (type === 'agent') {
    if (id === null) throw refuse("must be the agent's ID or name")
    const agent = await agents.findIn(db, project_id, id)
    if (!agent) throw refuse('no agent with this ID or name exists')
    return { ...none, project_id, agent_id: agent.id }
  }
  if (type === 'key' && id !== null) {
    const key = await keys.find(db, id)
    if (!key || !isInReach(actor, key)) throw refuse('no key with this ID exists')
  }
  return { ...none, project_id, scope_id: id }
}
