import type { CreateWebhook } from '../../../sdk/client.ts'

type EventType = CreateWebhook['events'][number]

/** A ping is sent by the test button, to every webhook. */
const ABOUT: Record<Exclude<EventType, 'ping'>, string> = {
  'agent.completed': 'a run has ended with an answer',
  'agent.failed': 'a run has ended without one',
  'agent.cancelled': 'a person or a client has stopped a run',
  'agent.waiting': 'a run asks a person, and waits for the decision',
  'deployment.created': 'an environment serves another version',
  'deployment.rolled_back': 'it serves an earlier one again',
  'webhook.disabled': 'a webhook gets nothing any more',
  'project.deleted': 'a project is gone; told in the default project',
  'budget.threshold': 'a budget has reached a threshold',
  'budget.exceeded': 'a budget has no room left',
  'project.paused': 'everything in the project is stopped',
  'project.resumed': 'it goes on',
  'service.paused': 'everything in the service is stopped; told in the default project',
  'service.resumed': 'it goes on; told in the default project',
  '*': 'every event, also those that come with later versions',
}

/** Every event, and when it happens. */
export const EVENT_TYPES = Object.entries(ABOUT).map(([value, about]) => ({ value: value as EventType, about }))
