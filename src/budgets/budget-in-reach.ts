import type { z } from 'zod'
import { forbidden } from '../errors.ts'
import type { Actor } from '../operation/actor.ts'
import { requireFound } from '../operation/scope.ts'
import type { Database } from '../storage/database.ts'
import { type Budget, type BudgetReply, periodOf, presentBudget } from './budget.ts'
import * as budgets from './store.ts'

/** A budget of the actor's project, or a service budget if the actor has access to all projects. */
export async function getInReach(db: Database, actor: Actor, id: string): Promise<Budget> {
  return requireFound(actor, await budgets.find(db, id), { kind: 'Budget', id })
}

/**
 * A budget that the actor can also change. An actor limited to an agent can't lift what others have set for that agent.
 */
export async function getToChange(db: Database, actor: Actor, id: string): Promise<Budget> {
  const budget = await getInReach(db, actor, id)
  if (actor.scope.agent_id !== null && budget.created_by !== actor.id) {
    throw forbidden('This key is limited to one agent and can only change budgets it created.')
  }
  return budget
}

/** The agent of the budget in the path. That agent's own security also applies to its budgets. */
export async function concernedAgent(
  { params }: { params: { budget_id: string } },
  db: Database,
): Promise<string | null> {
  return (await budgets.find(db, params.budget_id))?.agent_id ?? null
}

/** The budget with what has been spent of it. */
export async function presentNow(
  db: Database,
  budget: Budget,
  now: number,
  subject?: string,
): Promise<z.input<typeof BudgetReply>> {
  const period = periodOf(budget, now)
  return presentBudget(budget, await budgets.findCounter(db, budget.id, period.start, subject), period)
}
