import type { Database } from './storage/database.ts'
import type { Write } from './storage/journal/rows.ts'

/** Every event that a webhook can receive. */
export const EVENT_TYPES = [
  'agent.completed',
  'agent.failed',
  'agent.cancelled',
  'agent.waiting',
  'feedback.given',
  'connection.granted',
  'connection.ended',
  'deployment.created',
  'deployment.rolled_back',
  'webhook.disabled',
  'project.deleted',
  'project.paused',
  'project.resumed',
  'service.paused',
  'service.resumed',
  'budget.threshold',
  'budget.exceeded',
  'ping',
] as const

export type EventType = (typeof EVENT_TYPES)[number]

/**
 * `agent_id` is null if the event isn't about a single agent. `data` creates the content of the event and is called
 * only if a webhook or a listener wants it. Its fields are part of the API.
 */
export type NewEvent = {
  type: EventType
  project_id: string
  agent_id: string | null
  /** The run that the event is about. If `writes()` writes the event, the run's callbacks receive it too. */
  request_id?: string
  data(): object
  time: number
}

export type Events = {
  /**
   * The rows of the event, for the journal: they commit with the event's cause. There are none if no webhook wants it.
   */
  writes(event: NewEvent): Promise<Write[]>
  /**
   * Call this after the rows are committed: their deliveries are then sent immediately. Without rows, everything that
   * is due is sent.
   */
  wake(writes?: readonly Write[]): void
  /** Writes the event inside the caller's transaction. The commit wakes the senders by itself. */
  emit(db: Database, event: NewEvent): Promise<void>
  /** Writes the event for these webhooks only. */
  emitTo(db: Database, event: NewEvent, webhook_ids: readonly string[]): Promise<void>
  /** The listener receives the lanes of webhooks that have something to send. Undefined means that any may have. */
  onWake(listener: (lanes: ReadonlySet<string> | undefined) => void): void
}
