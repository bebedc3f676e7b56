import { z } from 'zod'
import { conflict } from '../errors.ts'
import type { Keyring } from '../security/keyring.ts'
import { AgentSecurity, AuthSettings } from '../security/security-settings.ts'
import { bareShape, parseStored, Time } from '../shapes.ts'
import { DamagedRowError } from '../storage/damaged-rows.ts'
import { type Definition, DefinitionFields, digestOf } from './definition.ts'

export const AgentStatus = z.enum(['running', 'paused'])

/** Names can't begin with `agt_`, which is reserved for IDs: a reference is either a name or an ID, never both. */
const AgentName = z
  .string()
  .regex(/^(?!agt_)[a-z0-9][a-z0-9-]{0,62}$/, 'must be 1 to 63 of a-z, 0-9 and -, starting with a letter or digit')

/** Who may reach the agent. A change takes effect immediately, for every version. */
const Access = z.strictObject({
  security: AgentSecurity.nullable().describe('Who can reach the agent, and how').default(null),
  auth: AuthSettings.nullable().describe('Tokens that are accepted for this agent in addition to keys').default(null),
})

/** A precondition of a change: the `digest` that the client has read. */
export const KnownDigest = z
  .string()
  .regex(/^[0-9a-f]{64}$/, "must be a SHA-256 hash in lowercase hex, as returned in the agent's `digest`")
  .optional()

export const CreateAgentBody = z
  .strictObject({ name: AgentName, ...DefinitionFields.shape, ...Access.shape })
  .meta({ id: 'CreateAgent' })

/** There are no defaults here: fields that a PATCH does not name stay as they are. */
export const UpdateAgentBody = z
  .strictObject({
    name: AgentName,
    status: AgentStatus,
    ...bareShape(DefinitionFields.shape),
    ...bareShape(Access.shape),
    digest: KnownDigest.describe(
      "The agent's `digest` as you last read it. If the agent has changed since, the request fails with 409",
    ),
  })
  .partial()
  .refine(
    ({ digest: _digest, ...changes }) => Object.keys(changes).length > 0,
    'must contain at least one field to change',
  )
  .meta({ id: 'UpdateAgent' })

export const AgentParams = z.strictObject({ agent_id: z.string() })

export const AgentSummary = z
  .object({ id: z.string(), name: z.string(), status: AgentStatus, created_at: Time })
  .meta({ id: 'AgentSummary' })

export const InvocableAgent = z
  .object({
    ...AgentSummary.shape,
    description: bareShape(DefinitionFields.shape).description,
    output_schema: z
      .record(z.string(), z.unknown())
      .nullable()
      .describe('The JSON Schema of the output in `production`; null for plain text answers'),
  })
  .meta({ id: 'InvocableAgent' })

export const AgentReply = z
  .object({
    ...AgentSummary.shape,
    ...bareShape(DefinitionFields.shape),
    security: AgentSecurity.nullable(),
    auth: z.record(z.string(), z.unknown()).nullable().describe('Secrets are returned as a hint'),
    updated_at: Time,
    digest: z.string().describe('SHA-256 hash of the fields that a deployment would save'),
  })
  .meta({ id: 'Agent' })

/** An agent as the service stores it. */
export type Agent = Definition & {
  seq: number
  id: string
  project_id: string
  name: string
  status: z.output<typeof AgentStatus>
  security: z.output<typeof AgentSecurity> | null
  /** Encrypted, because it contains secrets. */
  auth: string | null
  created_at: number
  updated_at: number
}

/** An agent with a model. */
export type ModelAgent = Agent & { kind: 'model' }

export const AUTH_PURPOSE = 'agent.auth'

export function sealAuth(auth: z.output<typeof AuthSettings> | null, keyring: Keyring): string | null {
  return auth === null ? null : keyring.encrypt(JSON.stringify(auth), AUTH_PURPOSE)
}

export function openAuth(
  { id, auth }: Pick<Agent, 'id' | 'auth'>,
  keyring: Keyring,
): z.output<typeof AuthSettings> | null {
  if (auth === null) return null
  try {
    return parseStored(AuthSettings, JSON.parse(keyring.decrypt(auth, AUTH_PURPOSE)))
  } catch {
    throw new DamagedRowError('agent', id, 'auth')
  }
}

/** The agent as clients see it. */
export function presentAgent(agent: Agent, keyring: Keyring): z.input<typeof AgentReply> {
  return { ...agent, auth: maskSecrets(openAuth(agent, keyring)), digest: digestOf(agent) }
}

/** Refuses a change if the agent isn't what the client knows. The agent is locked, so that it stays the same. */
export function requireDigest(agent: Agent, known: string | undefined): void {
  if (known !== undefined && digestOf(agent) !== known)
    throw conflict(`Agent "${agent.name}" has changed since you read it. Read it again and retry.`)
}

const SECRET_FIELDS = new Set(['clientSecret', 'secret'])

function maskSecrets(settings: z.output<typeof AuthSettings> | null): Record<string, unknown> | null {
  if (settings === null) return null
  const masked = Object.entries(settings).map(([name, value]) =>
    SECRET_FIELDS.has(name) && typeof value === 'string' ? [name, hintOf(value)] : [name, value],
  )
  return Object.fromEntries(masked)
}

const HINTED_LENGTH = 16

/** Four characters of a long secret reveal nothing, but four of a short one would. */
function hintOf(secret: string): string {
  return secret.length < HINTED_LENGTH ? '…' : `…${secret.slice(-4)}`
}

export function isHint(text: string): boolean {
  return text.startsWith('…')
}
