import type { EventType } from '../events.ts'
import type { Database } from '../storage/database.ts'

export type Subscriber = { id: string; agent_id: string | null; events: (EventType | '*')[] }

/** What decides who hears of an event: the webhooks that are enabled. */
export async function listSubscribers(db: Database): Promise<Subscriber[]> {
  const rows = await db
    .selectFrom('webhooks')
    .select(['id', 'agent_id', 'events'])
    .where('status', '=', 'enabled')
    .execute()
  return rows.map((row) => ({ ...row, events: JSON.parse(row.events) }))
}
