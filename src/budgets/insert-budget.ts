import { conflict } from '../errors.ts'
import type { Database } from '../storage/database.ts'
import type { Budget } from './budget.ts'
import * as budgets from './store.ts'

/** Each call of a model checks all budgets of its project, so their number is limited. */
const MOST_BUDGETS = 1_000

/** Stores a new budget, unless its project has too many. */
export async function insertBudget(db: Database, budget: Budget): Promise<void> {
  if ((await budgets.countAndHold(db, budget.project_id)) >= MOST_BUDGETS) {
    throw conflict(`There are already ${MOST_BUDGETS} budgets, the maximum. Delete one first.`)
  }
  await budgets.insert(db, budget)
}
