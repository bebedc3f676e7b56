import { z } from 'zod'
import type { EventType } from '../../events.ts'
import { Time } from '../../shapes.ts'
import type { RowWith, Tables } from '../../storage/tables.ts'
import { DeliveryWithBody } from '../delivery/delivery.ts'
import { CreateWebhookBody } from '../webhook.ts'

const { agent_id, events } = CreateWebhookBody.shape

/** How long a listener exists after the last request for its events. */
export const LISTENER_LIFE_MS = 120_000

export const CreateListenerBody = z.strictObject({ agent_id, events }).meta({ id: 'CreateListener' })

export const ListenerParams = z.strictObject({ listener_id: z.string() })

const { id, event_id, event, body, created_at } = DeliveryWithBody.shape

export const ListenerReply = z
  .object({
    id: z.string(),
    agent_id: z.string().nullable(),
    events: z.array(z.string()),
    created_at: Time,
    expires_at: Time.describe('When it expires; every request extends it'),
    deliveries: z
      .array(z.object({ id, event_id, event, body, created_at }).meta({ id: 'HeardEvent' }))
      .describe('Events that you have not confirmed in `received`, oldest first'),
  })
  .meta({ id: 'Listener' })

/**
 * A listener receives events like a webhook, but has no URL: a client requests the events. It ends when no client has
 * requested them for a while.
 */
export type Listener = RowWith<Tables['listeners'], { events: (EventType | '*')[] }>
