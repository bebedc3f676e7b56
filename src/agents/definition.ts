import { z } from 'zod'
import { canonicalJson } from '../lib/json.ts'
import { ApprovalRules } from '../runtime/approvals/approval-policy.ts'
import { WantedOutput } from '../runtime/output/wanted-output.ts'
import { Limits, MemoryPolicy, RemoteSettings, Script, Sessions, Tools } from '../runtime/spec.ts'
import { sha256 } from '../security/digest.ts'
import { Metadata, parseStored, Text } from '../shapes.ts'

const DEFAULT_MODEL = 'builtin/echo'
const MAX_MODELS = 5

/**
 * What clients write and read of a definition: the fields of every kind of agent. `runtime/runners.ts` says what runs
 * each kind.
 */
export const DefinitionFields = z.strictObject({
  kind: z
    .enum(['model', 'remote'])
    .describe('`model`: a model with instructions and tools. `remote`: your own server, which Moorage calls')
    .default('model'),
  remote: RemoteSettings.nullable().describe('Where a `remote` agent runs; null for other agents').default(null),
  description: Text(2000, 0).nullable().describe("A description for people. The model doesn't see it").default(null),
  model: z
    .union([Text(200), z.array(Text(200)).min(1).max(MAX_MODELS)], {
      error: `must be the name of a model, or a list of 1 to ${MAX_MODELS} names`,
    })
    .describe(
      '`provider/model`: `builtin/echo`, `builtin/script`, `builtin/recall`, or a model of a configured provider. In a list, each model is a fallback for the one before it',
    )
    .default(DEFAULT_MODEL),
  temperature: z.number().min(0).max(2).nullable().describe("null: the model's default").default(null),
  instructions: Text(100_000, 0)
    .nullable()
    .describe('The system prompt. Sent to the model with every message')
    .default(null),
  tools: Tools.describe('The tools that the model can call').default([]),
  script: Script.nullable().describe('Rules for answers of `builtin/script`; other models ignore them').default(null),
  output: WantedOutput.nullable()
    .describe('The JSON Schema that every answer must match. null: plain text answers')
    .default(null),
  memory: MemoryPolicy.describe('What is remembered, and which memories are sent to the model').prefault({}),
  limits: Limits.describe('Timeouts, sizes and concurrency').prefault({}),
  sessions: Sessions.describe('What happens when several messages of a session arrive at once').prefault({}),
  approvals: ApprovalRules.describe('How people approve tool calls and answer questions').prefault({}),
  metadata: Metadata.describe('Your own data; the service only stores it').default({}),
})

/**
 * What an agent is made of; a version is a snapshot of it. Only this file reads, writes, picks and compares
 * definitions. A new field needs a default, because stored agents and versions lack it. A new rule belongs in
 * check-definition.ts, because older stored definitions must still be shown.
 */
export type Definition = z.output<typeof DefinitionFields>

const FIELDS = Object.keys(DefinitionFields.shape) as (keyof Definition)[]

/** Picks the fields of the definition from an agent, or from any object that has them. */
export function definitionOf(agent: Definition): Definition {
  return Object.fromEntries(FIELDS.map((field) => [field, agent[field]])) as Definition
}

/** Whether a model answers, with instructions and tools. */
export function hasModel<Of extends Definition>(definition: Of): definition is Of & { kind: 'model' } {
  return definition.kind === 'model'
}

/** Reads a stored definition. It may be older than the shape: fields that did not exist then get their defaults. */
export function readDefinition(stored: object): Definition {
  return parseStored(DefinitionFields, stored)
}

export function writeDefinition(agent: Definition): string {
  return JSON.stringify(definitionOf(agent))
}

/** The columns of a definition in the tables of agents and versions. Lists read the columns beside the full text. */
export function definitionColumns(definition: Definition) {
  const { output, tools } = definition
  const calls = tools.flatMap((tool) => (tool.type === 'agent' ? [[tool.agent, tool.environment]] : []))
  return {
    definition: writeDefinition(definition),
    output_schema: JSON.stringify(output?.schema ?? null),
    calls: JSON.stringify(calls),
  }
}

/** Fields that releases after 0.1.0 have added, with their defaults. */
const LATER_FIELDS: Partial<Definition> = { sessions: { while_busy: 'queue' } }

/**
 * SHA-256. Versions with equal digests behave alike. A field that was added later counts only if it differs from its
 * default, so an upgrade changes no digest.
 */
export function digestOf(agent: Definition): string {
  const counted: Record<string, unknown> = definitionOf(agent)
  for (const [field, value] of Object.entries(LATER_FIELDS)) {
    if (canonicalJson(counted[field]) === canonicalJson(value)) delete counted[field]
  }
  return sha256(canonicalJson(counted))
}

export type FieldChange = { field: string; from: unknown; to: unknown }

export function changesBetween(from: Definition, to: Definition): FieldChange[] {
  return FIELDS.filter((field) => canonicalJson(from[field]) !== canonicalJson(to[field])).map((field) => ({
    field,
    from: from[field],
    to: to[field],
  }))
}
