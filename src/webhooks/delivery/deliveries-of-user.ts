import { parseIfJson } from '../../lib/json.ts'
import type { Database } from '../../storage/database.ts'

/** How many events are searched at once. */
const WINDOW = 500

type EventData = Record<string, unknown> & {
  context?: { user_id?: unknown; session_id?: unknown }
  scope?: { type?: unknown; id?: unknown }
}

type EventBody = { data?: EventData }

type Whose = {
  user_id: string
  agent_ids: ReadonlySet<string>
  /** The project whose own events are in reach, such as those of its budgets. Null if only agents are. */
  project_id: string | null
}

/**
 * Removes a user's texts from the events of these agents, and the user from events of the project's budgets, both from
 * those that wait and from those that are kept to be sent again. They are still sent, without the texts. Returns how many
 * there were.
 */
export async function eraseFromEvents(db: Database, { user_id, agent_ids, project_id }: Whose): Promise<number> {
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
      if (agent_id === null ? project_id === null : !agent_ids.has(agent_id)) continue
      const event = readEvent(body)
      if (event && !isAbout(event, user_id)) continue
      if (agent_id === null && project_id !== null && !(await isTold(db, id, project_id))) continue
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

/** Whether it tells of a run for the user, or of a budget of theirs. */
function isAbout({ data }: EventBody, user_id: string): boolean {
  if (data?.scope?.type === 'user') return data['subject'] === user_id || data.scope.id === user_id
  return data?.context?.user_id === user_id
}

/** Whether an event that is about no agent went to a webhook or a listener of the project. */
async function isTold(db: Database, event_id: string, project_id: string): Promise<boolean> {
  const told = await db
    .selectFrom('deliveries')
    .leftJoin('webhooks', 'webhooks.id', 'deliveries.webhook_id')
    .leftJoin('listeners', 'listeners.id', 'deliveries.webhook_id')
    .select('deliveries.id')
    .where('deliveries.event_id', '=', event_id)
    .where((to) => to.or([to('webhooks.project_id', '=', project_id), to('listeners.project_id', '=', project_id)]))
    .limit(1)
    .executeTakeFirst()
  return told !== undefined
}

async function replaceEvent(db: Database, id: string, event: EventBody | undefined): Promise<void> {
  const data = event?.data ?? {}
  const body = JSON.stringify({ ...event, data: data.scope ? withoutSubject(data) : withoutWords(data) })
  await db.updateTable('events').set({ body }).where('id', '=', id).execute()
}

function withoutWords({ response, output: _value, error, approvals, ...data }: EventData): EventData {
  return {
    ...data,
    ...(approvals !== undefined && { approvals: [] }),
    ...(response !== undefined && { response: response === null ? null : '' }),
    ...(error !== undefined && {
      error: error === null ? null : { ...(error as object), message: '', details: undefined },
    }),
    context: { user_id: null, session_id: null },
  }
}

/** A budget for one user may be named after them. */
function withoutSubject({ scope, ...data }: EventData): EventData {
  return {
    ...data,
    ...(scope?.id !== null && { name: '' }),
    scope: { ...scope, id: null },
    subject: null,
  }
}
