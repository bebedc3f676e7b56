import { firstIdAt } from '../../lib/id.ts'
import type { Database } from '../../storage/database.ts'
import type { Delivery } from './delivery.ts'
import { fromRow } from './delivery-store.ts'

type EventBody = { data: { request_id?: unknown } }

/**
 * The deliveries of the event with which a request ended, the oldest first. Ids begin with the time at which they were
 * made, so the primary key finds the few events of that millisecond. `agent_id` leaves out webhooks of other scopes.
 */
export async function listOfRequest(
  db: Database,
  { request_id, finished_at, agent_id }: { request_id: string; finished_at: number; agent_id: string | null },
): Promise<Delivery[]> {
  const events = await db
    .selectFrom('events')
    .select(['id', 'body'])
    .where('id', '>=', firstIdAt('evt', finished_at))
    .where('id', '<', firstIdAt('evt', finished_at + 1))
    .execute()
  const ids = events
    .filter(({ body }) => (JSON.parse(body) as EventBody).data.request_id === request_id)
    .map(({ id }) => id)
  if (ids.length === 0) return []
  const rows = await db
    .selectFrom('deliveries')
    .innerJoin('webhooks', 'webhooks.id', 'deliveries.webhook_id')
    .selectAll('deliveries')
    .where('event_id', 'in', ids)
    .$if(agent_id !== null, (select) => select.where('webhooks.agent_id', '=', agent_id))
    .orderBy('deliveries.id')
    .execute()
  return rows.map(fromRow)
}
