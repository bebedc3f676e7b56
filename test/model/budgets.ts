// docs/budgets.md and docs/usage.md: what calls count, and when there is no room for one.
import { agentNamed, asker, projectOf, wholeProject } from './access.ts'
import type { Act } from './act.ts'
import type { RunName } from './run-ends.ts'
import { type Budget, type Project, Refusal, type Run, type Used, type World } from './world.ts'

/** "A budget counts only what is spent after it was created." */
export function createBudget(world: World, act: Extract<Act, { do: 'create budget' }>) {
  const key = asker(world, act, 'manage')
  if (act.agent === null) wholeProject(key)
  else agentNamed(world, act, act.agent)
  const { agent, kind, amount, action } = act
  projectOf(world, act).budgets[act.budget] = { agent, limit: { kind, amount }, action, used: 0 }
  return { status: 201, says: { name: act.budget, used: 0 } }
}

export function deleteBudget(world: World, act: Extract<Act, { do: 'delete budget' }>) {
  const key = asker(world, act, 'delete')
  const { budgets } = projectOf(world, act)
  const budget = budgets[act.budget]
  if (!budget || (key.agent !== null && key.agent !== budget.agent)) throw new Refusal(404, 'not_found')
  delete budgets[act.budget]
  return { status: 200, says: { deleted: true } }
}

const over = ({ budgets }: Project, agent: string): Budget[] =>
  Object.values(budgets).filter((budget) => budget.agent === null || budget.agent === agent)

/** The budget that has no room for another run of the agent. Budgets that only notify never refuse. */
export function refusing(project: Project, agent: string): Budget | undefined {
  return over(project, agent).find(
    ({ limit, action, used }) => action === 'refuse' && limit.kind === 'runs' && used >= limit.amount,
  )
}

/** "A budget in runs counts each run once, when it first calls its model, even if the provider then fails." */
export function startsRun(project: Project, agent: string): void {
  for (const budget of over(project, agent)) if (budget.limit.kind === 'runs') budget.used += 1
}

/** Counts calls of the model for the agent that made them. */
export function spend(world: World, name: RunName, _run: Run, { calls, input, output }: Used): void {
  const project = world.projects[name.project] as Project
  const usage = (project.usage[name.agent] ??= { calls: 0, input: 0, output: 0 })
  usage.calls += calls
  usage.input += input
  usage.output += output
  for (const budget of over(project, name.agent)) if (budget.limit.kind === 'tokens') budget.used += input + output
}
