import type { CreateWebhook } from '../../../sdk/client.ts'

type EventType = CreateWebhook['events'][number]

/** A ping isn't listed, because the test button sends it to any webhook. */
const ABOUT: Record<Exclude<EventType, 'ping'>, string> = {
  'agent.completed': 'a run completed',
  'agent.failed': 'a run failed',
  'agent.cancelled': 'a person or a client cancelled a run',
  'agent.waiting': "a run is waiting for a person's decision",
  'feedback.given': 'a user or an application rated an answer',
  'connection.granted': "a user's sign-in to a connection was confirmed",
  'connection.ended': 'a sign-in to a connection can no longer be used',
  'deployment.created': 'a version was deployed to an environment',
  'deployment.rolled_back': 'an environment was rolled back, or a gradual deployment was aborted',
  'webhook.disabled': 'a webhook was disabled',
  'project.deleted': 'a project was deleted; sent to the default project',
  'budget.threshold': 'a budget reached a threshold',
  'budget.exceeded': 'a budget refused a call or was exceeded',
  'project.paused': 'the project was paused',
  'project.resumed': 'the project was resumed',
  'service.paused': 'the service was paused; sent to the default project',
  'service.resumed': 'the service was resumed; sent to the default project',
  '*': 'every event, including those added in later versions',
}

/** All events, and when they happen. */
export const EVENT_TYPES = Object.entries(ABOUT).map(([value, about]) => ({ value: value as EventType, about }))
