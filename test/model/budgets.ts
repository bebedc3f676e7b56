// docs/budgets.md and docs/usage.md: what calls count, and when there is no room for one.
import { agentNamed, asker, projectOf, requireOwn, wholeProject } from './access.ts'
import type { Act } from './act.ts'
import type { RunName } from './run-ends.ts'
import { type Budget, type Project, Refusal, type Used, type World } from './world.ts'

/** "A budget counts only what is spent after it was created." */
export function createBudget(world: World, act: Extract<Act, { do: 'create budget' }>) {
  const key = asker(world, act, 'manage')
  if (act.agent === null) wholeProject(key)
  else agentNamed(world, act, act.agent)
  const { agent, kind, amount, action } = act
  projectOf(world, act).budgets[act.budget] = { agent, limit: { kind, amount }, action, used: 0, by: act.by }
  return { status: 201, says: { name: act.budget, used: 0 } }
}

/** A key limited to one agent "can change or delete only the ones it created". */
export function deleteBudget(world: World, act: Extract<Act, { do: 'delete budget' }>) {
  const key = asker(world, act, 'manage')
  const { budgets } = projectOf(world, act)
  const budget = budgets[act.budget]
  requireOwn(key, budget)
  if (!budget) throw new Refusal(404, 'not_found')
  if (key.agent !== null && budget.by !== act.by) throw new Refusal(403, 'forbidden')
  delete budgets[act.budget]
  return { status: 200, says: { deleted: true } }
}

const over = ({ budgets }: Project, agent: string): Budget[] =>
  Object.values(budgets).filter((budget) => budget.agent === null || budget.agent === agent)

/** docs/budgets.md: a call reserves at least as many tokens for its output, if the agent sets no other number. */
const OUTPUT_TOKENS = 4_096

/** Whether the budgets have room for the next call of a run. Budgets that only notify never refuse. */
export function hasRoom(project: Project, agent: string, isFirst: boolean): boolean {
  return over(project, agent).every(({ limit: { kind, amount }, action, used }) => {
    if (action === 'notify') return true
    return kind === 'tokens' ? used + OUTPUT_TOKENS <= amount : !isFirst || used < amount
  })
}

/** "A budget in runs counts each run once, when it first calls its model, even if the provider then fails." */
export function countRun(project: Project, agent: string): void {
  for (const budget of over(project, agent)) if (budget.limit.kind === 'runs') budget.used += 1
}

/** Counts calls of the model for the agent that made them. */
export function spend(world: World, name: RunName, { calls, input, output }: Used): void {
  const project = world.projects[name.project] as Project
  const usage = (project.usage[name.agent] ??= { calls: 0, input: 0, output: 0 })
  usage.calls += calls
  usage.input += input
  usage.output += output
  for (const budget of over(project, name.agent)) if (budget.limit.kind === 'tokens') budget.used += input + output
}
