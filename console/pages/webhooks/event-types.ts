import type { CreateWebhook } from '../../../sdk/client.ts'

type EventType = Exclude<CreateWebhook['events'][number], '*'>

/** Every event, and when it happens. */
export const EVENT_TYPES: { value: EventType; about: string }[] = [
  { value: 'agent.completed', about: 'a run has ended with an answer' },
  { value: 'agent.failed', about: 'a run has ended without one' },
  { value: 'agent.cancelled', about: 'somebody has stopped a run' },
  { value: 'deployment.created', about: 'an environment serves another version' },
  { value: 'deployment.rolled_back', about: 'it serves an earlier one again' },
  { value: 'webhook.disabled', about: 'a webhook gets nothing any more' },
]
