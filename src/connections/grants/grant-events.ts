import type { NewEvent } from '../../events.ts'
import type { Connection } from '../connection.ts'
import { PROJECT } from '../connection.ts'
import type { ConnectionGrant } from './connection-grant.ts'

export function grantedEvent(grant: ConnectionGrant, connection: Connection, time: number): NewEvent {
  return eventOf('connection.granted', grant, connection, { status: 'active' }, time)
}

export function endedEvent(
  grant: ConnectionGrant,
  connection: Connection,
  { time, ...how }: { status: 'expired' | 'revoked'; reason: string; time: number },
): NewEvent {
  return eventOf('connection.ended', grant, connection, how, time)
}

function eventOf(
  type: NewEvent['type'],
  { id: grant_id, holder, project_id }: ConnectionGrant,
  { id: connection_id, name: connection, acts_as }: Connection,
  how: object,
  time: number,
): NewEvent {
  const user_id = holder === PROJECT ? null : holder
  const context = { user_id, session_id: null }
  const data = () => ({ connection, connection_id, as: acts_as, grant_id, ...how, context })
  return { type, project_id, agent_id: null, data, time }
}
