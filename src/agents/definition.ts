import { z } from 'zod'
import { canonicalJson } from '../lib/json.ts'
import { Limits, MemoryPolicy, Script, Tools } from '../runtime/spec.ts'
import { sha256 } from '../security/digest.ts'
import { Metadata, parseStored, Text } from '../shapes.ts'

const DEFAULT_MODEL = 'builtin/echo'

/**
 * What an agent is made of; a version is a snapshot of this. Everybody reads, writes, picks and compares definitions
 * through this file, so another kind of agent is another shape here, told apart by a field of its own. A field that is
 * added needs a default: older agents and versions lack it. A rule that is added belongs into check-definition.ts:
 * what was stored before it must still be shown.
 */
export const Definition = z.strictObject({
  description: Text(2000, 0)
    .nullable()
    .describe('What the agent is for. People read it, the model does not')
    .default(null),
  model: Text(200)
    .describe('`provider/model`: `builtin/echo`, `builtin/script`, `builtin/recall`, or one of a configured provider')
    .default(DEFAULT_MODEL),
  temperature: z.number().min(0).max(2).nullable().describe("null: the model's own").default(null),
  instructions: Text(100_000, 0).nullable().describe('What the model is told before every message').default(null),
  tools: Tools.describe('What the model may call').default([]),
  script: Script.nullable().describe('Rules that `builtin/script` answers by; other models ignore it').default(null),
  memory: MemoryPolicy.describe('What is remembered, and what the model is reminded of').prefault({}),
  limits: Limits.describe('How long, how much, how many at once').prefault({}),
  metadata: Metadata.describe('Yours; the service only keeps it').default({}),
})
export type Definition = z.output<typeof Definition>

const FIELDS = Object.keys(Definition.shape) as (keyof Definition)[]

/** The definition alone, of an agent or whatever else has its fields. */
export function definitionOf(agent: Definition): Definition {
  return Object.fromEntries(FIELDS.map((field) => [field, agent[field]])) as Definition
}

/** What is stored may be older than the shape: fields that did not exist then have their defaults. */
export function readDefinition(stored: string): Definition {
  return parseStored(Definition, JSON.parse(stored))
}

export function writeDefinition(agent: Definition): string {
  return JSON.stringify(definitionOf(agent))
}

/**
 * SHA-256: equal digests do the same. A field that was added later counts only while it is set, so that a version that
 * was made before it keeps its digest.
 */
export function digestOf(agent: Definition): string {
  const { max_input_tokens, ...limits } = agent.limits
  const { facts, retention_days, ...memory } = agent.memory
  return sha256(
    canonicalJson({
      ...definitionOf(agent),
      limits: { ...limits, ...(max_input_tokens && { max_input_tokens }) },
      memory: { ...memory, ...(facts !== 'off' && { facts }), ...(retention_days && { retention_days }) },
    }),
  )
}

export type FieldChange = { field: string; from: unknown; to: unknown }

export function changesBetween(from: Definition, to: Definition): FieldChange[] {
  return FIELDS.filter((field) => canonicalJson(from[field]) !== canonicalJson(to[field])).map((field) => ({
    field,
    from: from[field],
    to: to[field],
  }))
}
