import type { Database } from './storage/database.ts'
import type { Rows } from './storage/journal/batch.ts'
import type { Write } from './storage/journal/rows.ts'

/** Everything a webhook can hear of. */
export const EVENT_TYPES = [
  'agent.completed',
  'agent.failed',
  'agent.cancelled',
  'deployment.created',
  'deployment.rolled_back',
  'webhook.disabled',
  'ping',
] as const

export type EventType = (typeof EVENT_TYPES)[number]

/**
 * `agent_id` null concerns no single agent. `data` makes what the event tells, and is called only when somebody listens;
 * it is public: its fields are part of the API.
 */
export type NewEvent = { type: EventType; agent_id: string | null; data(): object; time: number }

export type Events = {
  /** Rows for the journal, so that the event commits with what caused it; none when no webhook asked for it. */
  writes(event: NewEvent): Write[] | Promise<Write[]>
  /** To be called once these rows are committed: what they announce is then sent at once. Without rows: whatever is due. */
  wake(rows?: Rows): void
  /** The same inside the caller's transaction, whose commit wakes by itself. */
  emit(db: Database, event: NewEvent): Promise<void>
  /** Hears which webhooks have something to send; undefined means any of them may have. */
  onWake(listener: (webhook_ids: ReadonlySet<string> | undefined) => void): void
}
