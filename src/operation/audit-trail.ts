import type { ErrorCode } from '../errors.ts'
import type { Database } from '../storage/database.ts'
import type { Actor } from './actor.ts'

/** What somebody did, or was not let do. */
export type AuditEvent = {
  /** Null before anybody was recognised. */
  actor: Pick<Actor, 'kind' | 'id'> | null
  /** The operation's id; null on a path that is no operation's. */
  action: string | null
  agent_id: string | null
  /** The id of what was changed. */
  target: string | null
  request_id: string
  /** Null on the host itself. */
  address: string | null
}

export type AuditTrail = {
  /**
   * Belongs into the transaction of the change; a change without one is told before, as `started`, and after.
   * `fields` are names, never values.
   */
  record(db: Database, event: AuditEvent & { fields: string[]; outcome: 'started' | 'success' }): Promise<void>
  /** Never holds up the reply, and a flood of refusals becomes few entries. */
  refuse(event: AuditEvent & { code: ErrorCode }): void
}
