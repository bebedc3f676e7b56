import { z } from 'zod'
import { DEFAULT_ENVIRONMENT, Environment } from '../runtime/tools/called-agent.ts'
import { sha256 } from '../security/digest.ts'
import type { Keyring } from '../security/keyring.ts'
import { Origin } from '../security/security-settings.ts'
import { KeyName, Label, Text, Time, TimeInput } from '../shapes.ts'

const MOST_ORIGINS = 20
const MOST_STARTERS = 6
const MOST_USD = 1_000_000

export const LinkStatus = z.enum(['active', 'expired'])

export const LinkParams = z.strictObject({ agent_id: z.string(), link_id: z.string() })

const VisitorMessages = z
  .int()
  .min(1)
  .max(1_000_000)
  .nullable()
  .default(null)
  .describe('How many messages one visitor can send in total; null for any number')

const LinkCost = z
  .number()
  .min(0.000001)
  .max(MOST_USD)
  .nullable()
  .default(null)
  .describe(
    'How much all visitors together can spend on model calls, in US dollars; null for any amount. The limit is a budget, which you can change under budgets',
  )

export const CreateLinkBody = z
  .strictObject({
    name: Label(200).nullable().default(null).describe("The title that visitors see. null: the agent's name"),
    environment: Environment.default(DEFAULT_ENVIRONMENT).describe('The environment that answers'),
    origins: z
      .array(Origin)
      .max(MOST_ORIGINS)
      .default([])
      .describe(
        'Origins whose pages can embed the chat and call it, such as `https://www.example.com`. Empty: only its own page',
      ),
    expires_at: TimeInput.nullable().default(null),
    limits: z
      .strictObject({ messages_per_visitor: VisitorMessages, cost_usd: LinkCost })
      .prefault({})
      .describe('When a limit is reached, the chat says so and accepts no more messages'),
    welcome: Text(2_000).nullable().default(null).describe('The first text on the page'),
    starters: z
      .array(Label(500))
      .max(MOST_STARTERS)
      .default([])
      .describe('Messages that visitors can send with one click'),
  })
  .meta({ id: 'CreateLink' })

export const LinkReply = z
  .object({
    id: z.string(),
    agent_id: z.string(),
    name: z.string().nullable(),
    environment: z.string(),
    url: z
      .string()
      .nullable()
      .describe(
        'Where the chat is: absolute if `server.publicUrl` is set, otherwise a path. Null without the permission `invoke`',
      ),
    origins: z.array(z.string()),
    status: LinkStatus,
    expires_at: Time.nullable(),
    limits: z.object({ messages_per_visitor: z.int().nullable(), cost_usd: z.number().nullable() }),
    welcome: z.string().nullable(),
    starters: z.array(z.string()),
    budget_id: z.string().nullable().describe('The budget that limits its cost'),
    used: z.object({
      visitors: z.int().describe('Visitors who have sent a message'),
      messages: z.int(),
      cost_usd: z.number().nullable().describe('Null without a cost limit'),
    }),
    warnings: z
      .array(z.string())
      .optional()
      .describe(
        'Why its cost limit refuses every message, such as a model without a price. Only in the reply to create',
      ),
    created_by: z.string(),
    created_by_name: KeyName,
    created_at: Time,
  })
  .meta({ id: 'Link' })

/** A link as it is stored. */
export type ChatLink = {
  id: string
  agent_id: string
  name: string | null
  environment: string
  /** Encrypted. */
  token: string
  origins: readonly string[]
  messages_per_visitor: number | null
  budget_id: string | null
  welcome: string | null
  starters: readonly string[]
  created_by: string
  created_at: number
  expires_at: number | null
}

/** How much of a link was used. */
export type LinkUse = { visitors: number; messages: number }

/** What its key's `role_source` says: the key has no secret of the API's format, and isn't listed among keys. */
export const LINK_KEY = 'link'

/**
 * What the store knows of a link's token. It has another form than the hashes of keys' secrets, so that a token is never
 * accepted as a key.
 */
export function tokenHash(token: string): string {
  return `link:${sha256(token)}`
}

const purposeOf = (id: string) => `link ${id}`

export function sealToken(token: string, id: string, keyring: Keyring): string {
  return keyring.encrypt(token, purposeOf(id))
}

export function linkStatus({ expires_at }: Pick<ChatLink, 'expires_at'>, now: number): z.output<typeof LinkStatus> {
  return expires_at !== null && expires_at <= now ? 'expired' : 'active'
}

/** The path at which a link's chat is. */
export function pathOfLink({ id, token }: Pick<ChatLink, 'id' | 'token'>, keyring: Keyring): string {
  return `/chat/${keyring.decrypt(token, purposeOf(id))}`
}
