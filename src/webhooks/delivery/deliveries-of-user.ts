import { parseIfJson } from '../../lib/json.ts'
import type { Database } from '../../storage/database.ts'

/** How many events are searched at once. */
const WINDOW = 500

type EventBody = { data: { context?: { user_id?: unknown } } & Record<string, unknown> }

type Whose = { user_id: string; agent_ids: ReadonlySet<string> }

/**
 * Removes a user's texts from the events of these agents, both from those that wait and from those that are kept to be
 * sent again. They are still sent, without the texts. Returns how many there were.
 */
export async function eraseFromEvents(db: Database, { user_id, agent_ids }: Whose): Promise<number> {
  let erased = 0
  let after = ''
  for (;;) {
    const events = await db
      .selectFrom('events')
      .select(['id', 'agent_id', 'body'])
      .where('id', '>', after)
      .orderBy('id')
      .limit(WINDOW)
      .execute()
    const last = events.at(-1)
    if (!last) return erased
    after = last.id
    for (const { id, agent_id, body } of events) {
      if (!agent_ids.has(agent_id ?? '')) continue
      const event = readEvent(body)
      if (event && event.data?.context?.user_id !== user_id) continue
      await replaceEvent(db, id, event)
      erased += 1
    }
  }
}

/** Removes the texts from what was told of a run while it was under way and when it ended. */
export async function eraseEventsOfRequest(db: Database, request_id: string): Promise<void> {
  const events = await db.selectFrom('events').select(['id', 'body']).where('request_id', '=', request_id).execute()
  for (const { id, body } of events) await replaceEvent(db, id, readEvent(body))
}

/** Undefined if it is damaged. It may have words of any user then, and nothing of it stays. */
function readEvent(body: string): EventBody | undefined {
  return parseIfJson(body) as EventBody | undefined
}

async function replaceEvent(db: Database, id: string, event: EventBody | undefined): Promise<void> {
  const body = JSON.stringify({ ...event, data: withoutWords(event?.data ?? {}) })
  await db.updateTable('events').set({ body }).where('id', '=', id).execute()
}

function withoutWords({ response, error, approvals, ...data }: EventBody['data']): Record<string, unknown> {
  return {
    ...data,
    ...(approvals !== undefined && { approvals: [] }),
    ...(response !== undefined && { response: response === null ? null : '' }),
    ...(error !== undefined && { error: error === null ? null : { ...(error as object), message: '' } }),
    context: { user_id: null, session_id: null },
  }
}
