import { randomBytes } from 'node:crypto'
import { z } from 'zod'
import { invalid } from '../errors.ts'
import { EVENT_TYPES, type EventType } from '../events.ts'
import type { Keyring } from '../security/keyring.ts'
import { checkUrl, type UrlPolicy } from '../security/outgoing/guarded-url.ts'
import { Label, Time } from '../shapes.ts'
import type { RowWith, Tables } from '../storage/tables.ts'
import { newWebhookSecret } from './signature.ts'

/**
 * enabled ⇄ disabled. A webhook is disabled by its owner, by a receiver that replies 410 Gone, or after days of
 * failures.
 */
export const WebhookStatus = z.enum(['enabled', 'disabled'])

export const DisabledReason = z.enum(['requested', 'gone', 'failing'])

export const EventName = z.enum(EVENT_TYPES)

export const WebhookUrl = Label(2048).describe('A public https URL; the operator can allow others')

const Events = z
  .array(z.enum([...EVENT_TYPES, '*']))
  .min(1)
  .max(20)
  .refine((events) => new Set(events).size === events.length, 'must not repeat an event')
  .describe('`*` means every event')

const Description = Label(500, 0).nullable()

export const WebhookParams = z.strictObject({ webhook_id: z.string() })

export const CreateWebhookBody = z
  .strictObject({
    agent_id: z
      .string()
      .nullable()
      .default(null)
      .describe(
        'Only events of this agent (ID or name). null: all agents, except those whose `security` restricts IP addresses or requires client certificates or one-time codes. Those agents need their own webhooks',
      ),
    url: WebhookUrl,
    events: Events,
    description: Description.default(null),
  })
  .meta({ id: 'CreateWebhook' })

export const UpdateWebhookBody = z
  .strictObject({ url: WebhookUrl, events: Events, description: Description, status: WebhookStatus })
  .partial()
  .refine((body) => Object.keys(body).length > 0, 'must contain at least one field to change')
  .meta({ id: 'UpdateWebhook' })

export const WebhookReply = z
  .object({
    id: z.string(),
    agent_id: z.string().nullable(),
    url: z.string(),
    events: z.array(z.string()),
    status: WebhookStatus,
    disabled_reason: DisabledReason.nullable(),
    description: z.string().nullable(),
    secret_hint: z.string(),
    previous_secret_expires_at: Time.nullable().describe(
      'Until this time, deliveries are also signed with an old secret',
    ),
    failing_since: Time.nullable().describe('The first failed attempt since the last success'),
    created_by: z
      .string()
      .nullable()
      .describe(
        "The key, or a person's role. The webhook belongs to the project and keeps working when they end. Null: a callback",
      ),
    created_at: Time,
    updated_at: Time,
  })
  .meta({ id: 'Webhook' })

export const WebhookWithSecret = z
  .object({ ...WebhookReply.shape, secret: z.string().describe('Returned only in this reply') })
  .meta({ id: 'WebhookWithSecret' })

/** `event`: what every webhook receives. `a2a`: the run as an A2A task. */
export const CallbackFormat = z.enum(['event', 'a2a'])

type EarlierSecret = { secret: string; expires_at: number }

/** A webhook as it is stored. Its secrets and headers are encrypted. */
export type Webhook = RowWith<
  Tables['webhooks'],
  {
    events: (EventType | '*')[]
    earlier_secrets: EarlierSecret[]
    status: z.output<typeof WebhookStatus>
    disabled_reason: z.output<typeof DisabledReason> | null
    format: z.output<typeof CallbackFormat> | null
  }
>

export const NO_CALLBACK = { request_id: null, name: null, format: null, headers: null } as const

export function requireUrl(url: string, policy: UrlPolicy, field = 'url'): void {
  const problem = checkUrl(url, policy)
  if (problem) throw invalid({ field, error: problem.message })
}

export const SECRET_PURPOSE = 'webhook.secret'
const HEADERS_PURPOSE = 'webhook.headers'

export function sealHeaders(headers: Record<string, string>, keyring: Keyring): string | null {
  return Object.keys(headers).length === 0 ? null : keyring.encrypt(JSON.stringify(headers), HEADERS_PURPOSE)
}

export function openHeaders({ headers }: Pick<Webhook, 'headers'>, keyring: Keyring): Record<string, string> {
  return headers === null ? {} : JSON.parse(keyring.decrypt(headers, HEADERS_PURPOSE))
}

/** A new secret, and what is stored of it. */
export function newSecret(keyring: Keyring): { secret: string; sealed: Pick<Webhook, 'secret' | 'secret_hint'> } {
  const secret = newWebhookSecret(randomBytes)
  // The last character of the encoding is only padding.
  const secret_hint = `whsec_…${secret.slice(-5)}`
  return { secret, sealed: { secret: keyring.encrypt(secret, SECRET_PURPOSE), secret_hint } }
}

/** The secrets that sign a delivery: the newest first, then the earlier ones during their grace periods. */
export function signingSecrets(webhook: Webhook, keyring: Keyring, now: number): string[] {
  const sealed = [webhook, ...secretsInGrace(webhook, now)]
  return sealed.map(({ secret }) => keyring.decrypt(secret, SECRET_PURPOSE))
}

export function presentWebhook(webhook: Webhook, now: number): z.input<typeof WebhookReply> {
  const ends = secretsInGrace(webhook, now).map(({ expires_at }) => expires_at)
  return { ...webhook, previous_secret_expires_at: ends.length > 0 ? Math.max(...ends) : null }
}

export function secretsInGrace({ earlier_secrets }: Pick<Webhook, 'earlier_secrets'>, now: number): EarlierSecret[] {
  return earlier_secrets.filter(({ expires_at }) => expires_at > now)
}
