import type { ErrorCode } from '../errors.ts'
import type { NewId } from '../lib/id.ts'
import type { Database } from '../storage/database.ts'
import type { Actor } from './actor.ts'

/** Something that an actor did, or that was refused. */
export type AuditEvent = {
  /** Null when the request was refused before the actor was known. */
  actor: Pick<Actor, 'kind' | 'id' | 'console_session' | 'person_id'> | null
  /** The operation's ID; null if the path belongs to no operation. */
  action: string | null
  /** The project of the request. */
  project_id: string
  agent_id: string | null
  /** The ID of the changed resource. */
  target: string | null
  request_id: string
  /** Null for the command line on the host. */
  address: string | null
}

type Recorded = AuditEvent & { fields: string[]; outcome: 'started' | 'success' }

/** An event of a command on the server, without a request. */
export function eventOfHost(
  { newId, now }: { newId: NewId; now(): number },
  event: Pick<Recorded, 'action' | 'project_id' | 'target' | 'outcome'> & { fields?: string[] },
): Recorded {
  const request_id = newId('req', now())
  return { fields: [], ...event, actor: { kind: 'local', id: 'local' }, agent_id: null, request_id, address: null }
}

export type AuditTrail = {
  /**
   * Call this in the transaction of the change. A change without a transaction is recorded twice: before, as `started`,
   * and after. `fields` are names, never values.
   */
  record(db: Database, event: Recorded): Promise<void>
  /** Does not delay the reply. Many refusals become few entries. */
  refuse(event: AuditEvent & { code: ErrorCode }): void
}
