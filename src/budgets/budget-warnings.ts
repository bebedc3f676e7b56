import { listModelUsers, type ModelUser } from '../agents/named-models.ts'
import type { Config } from '../config.ts'
import type { Prices } from '../operation/project-snapshot.ts'
import { namesOf } from '../runtime/models/model.ts'
import type { Database } from '../storage/database.ts'
import type { ShownAgents } from '../storage/queries/shown-agents.ts'
import { mostCostOf } from '../usage/prices/rates.ts'
import { type Budget, saidAmount } from './budget.ts'
import { countsForService } from './desk/applies.ts'

/** A reply names at most this many models or agents, and says how many more there are. */
const MOST_NAMED = 5

type WarningParts = {
  db: Database
  config: Pick<Config, 'budgets'>
  prices: Prices
  now(): number
  shownAgents(): Promise<ShownAgents>
}

/**
 * Why the budget would refuse every call of a model or an agent in its scope: no price is known, or one call may need
 * more than the whole budget. Checks the current drafts of the agents that the request may see.
 */
export async function warningsOf(
  budget: Budget,
  { db, config, prices, now, shownAgents }: WarningParts,
): Promise<string[]> {
  if (budget.limit_kind === 'runs') return []
  const agents = await listModelUsers(db, budget, await shownAgents())
  for (const [project_id, users] of Map.groupBy(agents, (agent) => agent.project_id)) {
    await prices.prepare(project_id, [...new Set(users.flatMap(({ model }) => namesOf(model)))])
  }
  const unpriced = new Set<string>()
  const tooLarge = new Map<string, number>()
  for (const agent of agents) {
    for (const model of namesOf(agent.model)) {
      if (budget.project_id === null && !(await countsForService({ ...agent, model }, { config, prices }))) continue
      const price = await prices.find(agent.project_id, model, now())
      const tokens = leastHeld(agent, config.budgets.outputTokens)
      if (budget.limit_kind === 'cost_usd' && !price) unpriced.add(model)
      const cost = price ? mostCostOf(price, tokens.input, tokens.output) : 0
      const held = budget.limit_kind === 'tokens' ? tokens.input + tokens.output : cost
      if (held > budget.amount) tooLarge.set(agent.name, Math.max(held, tooLarge.get(agent.name) ?? 0))
    }
  }
  return [...unpricedText(budget, unpriced), ...tooLargeText(budget, tooLarge)]
}

/** The least that a call of the agent reserves: the amount for an empty message. */
function leastHeld({ instruction_bytes, limits }: ModelUser, outputTokens: number) {
  const output = limits?.cut_to_budget ? 0 : (limits?.max_output_tokens ?? outputTokens)
  return { input: instruction_bytes, output }
}

function unpricedText({ action }: Budget, models: ReadonlySet<string>): string[] {
  if (models.size === 0) return []
  const effect = action === 'refuse' ? 'This budget refuses its calls' : "This budget doesn't count its calls"
  const some = action === 'refuse' ? 'This budget refuses their calls' : "This budget doesn't count their calls"
  return [
    `${models.size === 1 ? `The model ${named([...models])} has` : `The models ${named([...models])} have`} no price. ${models.size === 1 ? effect : some} until a price is set.`,
  ]
}

function tooLargeText(budget: Budget, held: ReadonlyMap<string, number>): string[] {
  if (held.size === 0 || budget.action === 'notify') return []
  const most = saidAmount(budget, Math.max(...held.values()))
  const agents = `${held.size === 1 ? 'the agent' : 'the agents'} ${named([...held.keys()])}`
  return [
    `A single call of ${agents} could need ${most}, more than the whole budget of ${saidAmount(budget, budget.amount)}, so every call is refused. Raise the budget's limit, or lower the agent's limits.max_output_tokens.`,
  ]
}

function named(names: readonly string[]): string {
  const more = names.length - MOST_NAMED
  const shown = names.slice(0, MOST_NAMED).join(', ')
  return more > 0 ? `${shown} and ${more} more` : shown
}
