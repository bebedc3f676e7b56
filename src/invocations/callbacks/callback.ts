import { z } from 'zod'
import type { EventType } from '../../events.ts'
import type { Parts } from '../../operation/parts.ts'
import { policiesOf } from '../../security/outgoing/policies.ts'
import { Label, Time } from '../../shapes.ts'
import {
  CallbackFormat,
  DisabledReason,
  newSecret,
  requireUrl,
  sealHeaders,
  type Webhook,
  WebhookStatus,
  WebhookUrl,
} from '../../webhooks/webhook.ts'

const HeaderValue = z
  .string()
  .max(4_096)
  .regex(/^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/, 'must be a valid header value of visible ASCII characters')

export const NewCallback = z
  .strictObject({
    url: WebhookUrl,
    name: Label(128)
      .optional()
      .describe('Your own name for the callback. Creating another one with the same name in this run replaces it'),
    format: CallbackFormat.default('event').describe('What to send: an event in the webhook format, or an A2A task'),
    token: HeaderValue.optional().describe('Sent in the X-A2A-Notification-Token header; never returned'),
    authorization: HeaderValue.optional().describe('Sent in the Authorization header; never returned'),
  })
  .meta({ id: 'NewCallback' })

export const CallbackParams = z.strictObject({
  agent_id: z.string(),
  request_id: z.string(),
  callback_id: z.string().describe("The callback's ID or name"),
})

export const CallbackReply = z
  .object({
    id: z.string(),
    request_id: z.string(),
    name: z.string().nullable(),
    url: z.string(),
    format: CallbackFormat,
    status: WebhookStatus,
    disabled_reason: DisabledReason.nullable(),
    secret_hint: z.string(),
    created_at: Time,
  })
  .meta({ id: 'Callback' })

export const CallbackWithSecret = z
  .object({ ...CallbackReply.shape, secret: z.string().describe('Signs the requests. Returned only in this reply') })
  .meta({ id: 'CallbackWithSecret' })

export type Callback = Webhook & { request_id: string; format: z.output<typeof CallbackFormat> }

const EVENTS: EventType[] = ['agent.completed', 'agent.failed', 'agent.cancelled', 'agent.waiting']

/**
 * A callback for one run, and the secret that signs its deliveries. `path` says where its fields are in the request.
 */
export function callbackOf(
  { url, name, format, token, authorization }: z.output<typeof NewCallback>,
  run: { project_id: string; agent_id: string; request_id: string },
  { config, keyring, newId, now }: Pick<Parts, 'config' | 'keyring' | 'newId' | 'now'>,
  path = '',
): { callback: Callback; secret: string } {
  requireUrl(url, policiesOf(config).webhooks, `${path}url`)
  const { secret, sealed } = newSecret(keyring)
  const headers = {
    ...(token !== undefined && { 'X-A2A-Notification-Token': token }),
    ...(authorization !== undefined && { Authorization: authorization }),
  }
  const time = now()
  const callback = {
    ...run,
    ...sealed,
    id: newId('whk', time),
    url,
    name: name ?? null,
    format,
    headers: sealHeaders(headers, keyring),
    events: EVENTS,
    status: 'enabled' as const,
    disabled_reason: null,
    description: null,
    earlier_secrets: [],
    failing_since: null,
    created_by: null,
    created_at: time,
    updated_at: time,
  }
  return { callback, secret }
}
