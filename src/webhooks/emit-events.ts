import * as agents from '../agents/store.ts'
import type { Events, EventType, NewEvent } from '../events.ts'
import type { NewId } from '../lib/id.ts'
import { formatTime } from '../lib/time.ts'
import { laneKey } from '../lib/work/lane-key.ts'
import { announce, type Database } from '../storage/database.ts'
import type { Write } from '../storage/journal/rows.ts'
import { writeRows } from '../storage/journal/write-rows.ts'
import type { Memo } from '../storage/memo.ts'
import type { Storage } from '../storage/open-storage.ts'
import { userOf } from './delivery/deliveries-of-user.ts'
import { DELIVERIES, EVENTS } from './delivery/delivery-store.ts'
import { isKnownWithheld, isStoredWithheld } from './delivery/withheld.ts'
import { RunsWithCallbacks } from './runs-with-callbacks.ts'
import * as webhooks from './store.ts'

/**
 * The outbox. An event is stored together with what caused it: one row with its body, and one row for each webhook that
 * will receive it. The subscribers are kept in memory, so that an event without subscribers costs nothing.
 */
export function openEvents({ storage, memo }: { storage: Storage; memo: Memo }, newId: NewId): Events {
  const listeners: Parameters<Events['onWake']>[0][] = []
  const runsWithCallbacks = new RunsWithCallbacks(storage)
  let known: Subscribers | undefined
  let loading: Promise<Subscribers> | undefined

  const wake = (lanes: ReadonlySet<string> | undefined) => {
    for (const listener of listeners) listener(lanes)
  }
  storage.onChange((change) => {
    if (change === 'webhooks') known = loading = undefined
    if (change === 'webhooks' || change === 'deliveries' || change === 'pauses') wake(undefined)
  })

  const load = async (): Promise<Subscribers> => {
    const current = webhooks.listSubscribers(storage.db).then(byOwner)
    loading = current
    try {
      const loaded = await current
      // If the subscribers changed while they were loaded, the result may be outdated and is not kept.
      if (loading === current) known = loaded
      return loaded
    } finally {
      if (loading === current) loading = undefined
    }
  }

  /** The agent of a long run may have moved since it began. */
  const projectNow = async ({ agent_id, project_id }: NewEvent) =>
    (agent_id !== null && (await agents.findKnown(agent_id, { memo, storage }))?.project_id) || project_id
  const rows = (event: NewEvent, webhook_ids: readonly string[]): Write[] =>
    webhook_ids.length === 0 ? [] : rowsOf(event, webhook_ids, newId)
  const insert = async (db: Database, writes: Write[]) => {
    if (writes.length === 0) return
    await writeRows(db, writes)
    await announce(db, 'deliveries')
  }

  return {
    async writes(event) {
      const subscribers = storage.hears()
        ? (known ?? (await (loading ?? load())))
        : byOwner(await webhooks.listSubscribers(storage.db))
      const present = subscribers.size === 0 ? event : { ...event, project_id: await projectNow(event) }
      const wanting = await listWanting(present, subscribers, (agent_id) =>
        isKnownWithheld(agent_id, { memo, storage }),
      )
      return rows(present, [...wanting, ...(await runsWithCallbacks.callbacksOf(event))])
    },
    wake(written) {
      if (!written) return wake(undefined)
      const lanes = new Set(written.flatMap(({ into, lane }) => (into === DELIVERIES && lane ? lane : [])))
      if (lanes.size > 0) wake(lanes)
    },
    async emit(db, event) {
      const subscribers = byOwner(await webhooks.listSubscribers(db))
      await insert(db, rows(event, await listWanting(event, subscribers, (agent_id) => isStoredWithheld(agent_id, db))))
    },
    emitTo: (db, event, webhook_ids) => insert(db, rows(event, webhook_ids)),
    onWake: (listener) => listeners.push(listener),
  }
}

/** Subscribers by the id of the agent that they listen to, or of the project if they listen to all of its agents. */
type Subscribers = ReadonlyMap<string, readonly webhooks.Subscriber[]>

function byOwner(subscribers: readonly webhooks.Subscriber[]): Subscribers {
  return Map.groupBy(subscribers, ({ project_id, agent_id }) => agent_id ?? project_id)
}

async function listWanting(
  { type, project_id, agent_id, time }: NewEvent,
  subscribers: Subscribers,
  isAgentWithheld: (agent_id: string) => Promise<boolean>,
): Promise<string[]> {
  const wantingOf = (owner: string) =>
    (subscribers.get(owner) ?? [])
      .filter((subscriber) => subscriber.project_id === project_id)
      .filter(({ events }) => events.includes(type) || events.includes('*'))
      .filter(({ until }) => until === null || until > time)
      .map(({ id }) => id)
  const ofAll = wantingOf(project_id)
  if (agent_id === null) return ofAll
  const ofAgent = wantingOf(agent_id)
  return ofAll.length === 0 || (await isAgentWithheld(agent_id)) ? ofAgent : [...ofAgent, ...ofAll]
}

function rowsOf(event: NewEvent, webhook_ids: readonly string[], newId: NewId): Write[] {
  const { type, project_id, agent_id, request_id, time } = event
  const event_id = newId('evt', time)
  const data = event.data()
  const user_id = userOf(data) ?? null
  const body = eventBody({ ...event, id: event_id, data: () => data })
  const deliveries = webhook_ids.map((webhook_id) => ({
    into: DELIVERIES,
    lane: laneKey(project_id, webhook_id),
    row: {
      id: newId('dlv', time),
      webhook_id,
      event_id,
      event: type,
      status: 'pending',
      tries: 0,
      attempt_count: 0,
      attempts: '[]',
      next_attempt_at: time,
      created_at: time,
    },
  }))
  return [{ into: EVENTS, row: { id: event_id, project_id, agent_id, request_id, user_id, body } }, ...deliveries]
}

/** The body is serialised once, so that every attempt sends and signs the same bytes. */
export function eventBody({ id, type, agent_id, data, time }: NewEvent & { id: string; type: EventType }): string {
  return JSON.stringify({ id, type, timestamp: formatTime(time), agent_id, data: data() })
}
