import type { Database } from '../../storage/database.ts'

/** How many events are searched at once. */
const WINDOW = 500

type EventBody = { agent_id: string | null; data: { context?: { user_id?: unknown } } & Record<string, unknown> }

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
      .select(['id', 'body'])
      .where('id', '>', after)
      .orderBy('id')
      .limit(WINDOW)
      .execute()
    const last = events.at(-1)
    if (!last) return erased
    after = last.id
    for (const { id, body } of events) {
      const event = JSON.parse(body) as EventBody
      if (event.data?.context?.user_id !== user_id || !agent_ids.has(event.agent_id ?? '')) continue
      await db
        .updateTable('events')
        .set({ body: JSON.stringify({ ...event, data: withoutWords(event.data) }) })
        .where('id', '=', id)
        .execute()
      erased += 1
    }
  }
}

function withoutWords({ response, error, ...data }: EventBody['data']): Record<string, unknown> {
  return {
    ...data,
    ...(response !== undefined && { response: response === null ? null : '' }),
    ...(error !== undefined && { error: error === null ? null : { ...(error as object), message: '' } }),
    context: { user_id: null, session_id: null },
  }
}
