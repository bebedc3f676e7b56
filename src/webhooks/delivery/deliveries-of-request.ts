import { readable } from '../../storage/damaged-rows.ts'
import type { Database } from '../../storage/database.ts'
import { ENDS } from '../callback-store.ts'
import type { Delivery } from './delivery.ts'
import { fromRow } from './delivery-store.ts'

/**
 * The deliveries of the event with which a request ended, oldest first. If `agent_id` is set, webhooks of other scopes
 * are left out.
 */
export async function listOfRequest(
  db: Database,
  { request_id, agent_id }: { request_id: string; agent_id: string | null },
): Promise<Delivery[]> {
  const rows = await db
    .selectFrom('events')
    .innerJoin('deliveries', 'deliveries.event_id', 'events.id')
    .innerJoin('webhooks', 'webhooks.id', 'deliveries.webhook_id')
    .selectAll('deliveries')
    .where('events.request_id', '=', request_id)
    .where('deliveries.event', 'in', ENDS)
    .$if(agent_id !== null, (select) => select.where('webhooks.agent_id', '=', agent_id))
    .orderBy('deliveries.id')
    .execute()
  return readable(db, rows, fromRow)
}
