import { createBudget } from './create-budget.ts'
import { deleteBudget } from './delete-budget.ts'
import { getBudget } from './get-budget.ts'
import { listBudgets } from './list-budgets.ts'
import { updateBudget } from './update-budget.ts'

export const budgetOperations = [createBudget, listBudgets, getBudget, updateBudget, deleteBudget] as const
