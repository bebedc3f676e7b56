import type { Agent, UpdateAgent } from '../../../sdk/client.ts'
import { MoorageError } from '../../../sdk/client.ts'
import { type ReadYaml, readYaml } from '../../lib/yaml/yaml-read.ts'

/** The fields of an agent that make it what it is, in the order in which people read them. */
const FIELDS = [
  'kind',
  'description',
  'remote',
  'model',
  'temperature',
  'instructions',
  'tools',
  'script',
  'output',
  'memory',
  'limits',
  'approvals',
  'metadata',
  'security',
] as const satisfies (keyof Agent & keyof UpdateAgent)[]

export type Definition = Pick<Agent, (typeof FIELDS)[number]>

/** The agent's definition. How it signs in elsewhere is not part of it: secrets come back as hints only. */
export function definitionOf(agent: Definition): Definition {
  return Object.fromEntries(FIELDS.map((field) => [field, agent[field]])) as Definition
}

/** The fields that differ. */
export function changesOf(before: Definition, wanted: object): UpdateAgent {
  const changed = Object.entries(wanted).filter(
    ([field, value]) => JSON.stringify(value) !== JSON.stringify(before[field as keyof Definition]),
  )
  return Object.fromEntries(changed) as UpdateAgent
}

/** What a definition in YAML says. Throws if it says nothing that could be one. */
export function readDefinition(text: string): ReadYaml & { value: object } {
  const { value, lines } = readYaml(text)
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { value, lines }
  throw new MoorageError('invalid_request', 'A definition has fields, each with its name and a colon')
}
