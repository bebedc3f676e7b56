import type { Agent, UpdateAgent } from '../../../sdk/client.ts'

/** The fields of an agent that make it what it is, in the order in which people read them. */
const FIELDS = [
  'description',
  'model',
  'temperature',
  'instructions',
  'tools',
  'script',
  'memory',
  'limits',
  'approvals',
  'metadata',
  'security',
] as const satisfies (keyof Agent & keyof UpdateAgent)[]

/** The agent's definition. How it signs in elsewhere is not part of it: secrets come back as hints only. */
export function definitionOf(agent: Agent): Record<string, unknown> {
  return Object.fromEntries(FIELDS.map((field) => [field, agent[field]]))
}

/** The fields that differ from the agent's own. */
export function changesOf(agent: Agent, wanted: Record<string, unknown>): UpdateAgent {
  const changed = Object.entries(wanted).filter(
    ([field, value]) => JSON.stringify(value) !== JSON.stringify(agent[field as keyof Agent]),
  )
  return Object.fromEntries(changed) as UpdateAgent
}
