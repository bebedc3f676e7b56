import { sql } from 'kysely'
import { parseIfJson } from '../../lib/json.ts'
import type { Database } from '../../storage/database.ts'
import { isShown, type ShownAgents } from '../../storage/queries/shown-agents.ts'

/** How many events are read at once. */
const WINDOW = 500

type EventData = Record<string, unknown> & {
  context?: { user_id?: unknown; session_id?: unknown }
  scope?: { type?: unknown; id?: unknown }
}

type EventBody = { data?: EventData }

type UserReach = { user_id: string; reach: ShownAgents }

/** The user whose run or budget an event is about. */
export function userOf(data: object): string | undefined {
  const { scope, context, subject }: EventData = data as EventData
  const user_id = scope?.type === 'user' ? (subject ?? scope.id) : context?.user_id
  return typeof user_id === 'string' ? user_id : undefined
}

/**
 * Removes a user's texts from the events of a project, including events from before an agent moved to it. This covers
 * both events that wait and those that are kept so they can be sent again. They are still sent, without the texts.
 * Returns how many there were.
 */
export async function eraseFromEvents(db: Database, { user_id, reach }: UserReach): Promise<number> {
  let erased = 0
  for (;;) {
    const events = await db
      .selectFrom('events')
      .select(['id', 'body'])
      .where('user_id', '=', user_id)
      .where((event) =>
        event.or([
          event('project_id', '=', reach.project_id),
          event(
            'agent_id',
            'in',
            event.selectFrom('agents').select('agents.id').where('agents.project_id', '=', reach.project_id),
          ),
        ]),
      )
      .where(isShown(db, sql.ref('agent_id'), reach))
      .limit(WINDOW)
      .execute()
    if (events.length === 0) return erased
    for (const { id, body } of events) await replaceEvent(db, id, readEvent(body))
    erased += events.length
  }
}

/** Removes the texts from a run's events, both those during the run and the one at its end. */
export async function eraseEventsOfRequest(db: Database, request_id: string): Promise<void> {
  const events = await db.selectFrom('events').select(['id', 'body']).where('request_id', '=', request_id).execute()
  for (const { id, body } of events) await replaceEvent(db, id, readEvent(body))
}

/** Undefined if the event is damaged. It may then contain any user's words, so nothing of it is kept. */
function readEvent(body: string): EventBody | undefined {
  return parseIfJson(body) as EventBody | undefined
}

async function replaceEvent(db: Database, id: string, event: EventBody | undefined): Promise<void> {
  const data = event?.data ?? {}
  const body = JSON.stringify({ ...event, data: data.scope ? withoutSubject(data) : withoutWords(data) })
  await db.updateTable('events').set({ body, user_id: null }).where('id', '=', id).execute()
}

function withoutWords({ response, output: _value, error, approvals, comment, ...data }: EventData): EventData {
  return {
    ...data,
    ...(approvals !== undefined && { approvals: [] }),
    ...(comment !== undefined && { comment: null }),
    ...(response !== undefined && { response: response === null ? null : '' }),
    ...(error !== undefined && {
      error: error === null ? null : { ...(error as object), message: '', details: undefined },
    }),
    context: { user_id: null, session_id: null },
  }
}

/** A user's budget may be named after the user, so its name is removed. */
function withoutSubject({ scope, ...data }: EventData): EventData {
  return {
    ...data,
    ...(scope?.id !== null && { name: '' }),
    scope: { ...scope, id: null },
    subject: null,
  }
}
