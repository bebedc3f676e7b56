import { z } from 'zod'
import type { GuardedFetchCode } from '../../security/outgoing/guarded-error.ts'
import { Time } from '../../shapes.ts'
import type { RowWith, Tables } from '../../storage/tables.ts'
import { EventName } from '../webhook.ts'

/** pending → delivered | failed (no attempts are left). Sending it again makes it pending. */
export const DeliveryStatus = z.enum(['pending', 'delivered', 'failed'])

/** Every reason for which an attempt can fail. */
export const AttemptError = z.enum([
  'http_error',
  'redirect',
  'timeout',
  'dns_failed',
  'connect_failed',
  'tls_failed',
  'reset',
  'invalid_response',
  'too_large',
  'blocked_address',
  'invalid_url',
  'agent_closed',
  'internal',
])
export type AttemptError = z.output<typeof AttemptError>

export const Attempt = z
  .object({
    attempt: z.int().describe('Starts at 1, as in `X-Service-Attempt`'),
    at: Time,
    duration_ms: z.int(),
    response_status: z.int().nullable(),
    error: AttemptError.nullable().describe('null: the receiver accepted it'),
  })
  .meta({ id: 'DeliveryAttempt' })
export type Attempt = z.input<typeof Attempt>

export const DeliveryParams = z.strictObject({ webhook_id: z.string(), delivery_id: z.string() })

export const DeliveryReply = z
  .object({
    id: z.string(),
    webhook_id: z.string(),
    event_id: z.string().describe('The `webhook-id` of every attempt'),
    event: EventName,
    status: DeliveryStatus,
    attempt_count: z.int(),
    attempts: z.array(Attempt).describe('The latest attempts, oldest first'),
    next_attempt_at: Time.nullable().describe('null: no attempt is planned, or one is in progress'),
    created_at: Time,
    delivered_at: Time.nullable(),
  })
  .meta({ id: 'Delivery' })

export const DeliveryWithBody = z
  .object({ ...DeliveryReply.shape, body: z.string().describe('The exact body that is sent') })
  .meta({ id: 'DeliveryWithBody' })

export type Delivery = RowWith<
  Tables['deliveries'],
  { event: z.output<typeof EventName>; status: z.output<typeof DeliveryStatus>; attempts: Attempt[] }
>

export function presentDelivery(delivery: Delivery): z.input<typeof DeliveryReply> {
  return { ...delivery, next_attempt_at: delivery.owner === null ? delivery.next_attempt_at : null }
}

/** The error of an attempt that got no reply. An aborted call isn't counted as an attempt. */
export function errorOf(code: Exclude<GuardedFetchCode, 'aborted'>): AttemptError {
  return code === 'invalid_request' ? 'internal' : code
}
