import type { Agent } from '../agents/agent.ts'
import { findSnapshot, type SnapshotParts } from '../agents/agent-snapshot.ts'
import * as agents from '../agents/store.ts'
import type { Events, EventType, NewEvent } from '../events.ts'
import type { NewId } from '../lib/id.ts'
import { formatTime } from '../lib/time.ts'
import { laneKey } from '../lib/work/lane-key.ts'
import type { Subscriber } from '../operation/project-snapshot.ts'
import { announce, type Database } from '../storage/database.ts'
import type { Write } from '../storage/journal/rows.ts'
import { writeRows } from '../storage/journal/write-rows.ts'
import type { Storage } from '../storage/open-storage.ts'
import * as callbacks from './callback-store.ts'
import { userOf } from './delivery/deliveries-of-user.ts'
import { DELIVERIES, EVENTS } from './delivery/delivery-store.ts'
import { isWithheld } from './delivery/withheld.ts'
import * as webhooks from './store.ts'

/**
 * The outbox. An event is stored together with its cause: one row with its body, and one row for each webhook that
 * receives it. The subscribers are cached, so an event without subscribers costs nothing.
 */
export function openEvents(parts: SnapshotParts, newId: NewId): Events {
  const { findProject, storage } = parts
  const listeners: Parameters<Events['onWake']>[0][] = []
  const runsWithCallbacks = new RunsWithCallbacks(storage)

  const wake = (lanes: ReadonlySet<string> | undefined) => {
    for (const listener of listeners) listener(lanes)
  }
  storage.onChange((change) => {
    if (change === 'webhooks' || change === 'deliveries' || change === 'pauses') wake(undefined)
  })

  const rows = (event: NewEvent, webhook_ids: readonly string[]): Write[] =>
    webhook_ids.length === 0 ? [] : rowsOf(event, webhook_ids, newId)
  const insert = async (db: Database, writes: Write[]) => {
    if (writes.length === 0) return
    await writeRows(db, writes)
    await announce(db, 'deliveries')
  }

  return {
    async writes(event) {
      const { agent_id } = event
      // The agent of a long run may have moved since the run began.
      const snapshot = agent_id === null ? undefined : await findSnapshot(agent_id, parts)
      const project = snapshot?.project ?? (await findProject(event.project_id))
      const present = project ? { ...event, project_id: project.id } : event
      const wanting = project ? listWanting(present, project.subscribers, snapshot?.agent) : []
      return rows(present, [...wanting, ...(await runsWithCallbacks.callbacksOf(event))])
    },
    wake(written) {
      if (!written) return wake(undefined)
      wake(new Set(written.flatMap(({ lane }) => lane ?? [])))
    },
    async emit(db, event) {
      const { agent_id, project_id } = event
      const subscribers = await webhooks.listSubscribers(db, project_id)
      const agent = subscribers.length === 0 || agent_id === null ? undefined : await agents.find(db, agent_id)
      await insert(db, rows(event, listWanting(event, subscribers, agent)))
    },
    emitTo: (db, event, webhook_ids) => insert(db, rows(event, webhook_ids)),
    onWake: (listener) => listeners.push(listener),
  }
}

/** The ids of the webhooks and listeners that receive the event. */
function listWanting(
  { type, agent_id, time }: NewEvent,
  subscribers: readonly Subscriber[],
  agent: Pick<Agent, 'security'> | undefined,
): string[] {
  if (subscribers.length === 0) return []
  const isOfAllTold = agent === undefined || !isWithheld(agent)
  return subscribers
    .filter((one) => (one.agent_id === null ? isOfAllTold : one.agent_id === agent_id))
    .filter(({ events }) => events.includes(type) || events.includes('*'))
    .filter(({ until }) => until === null || until > time)
    .map(({ id }) => id)
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

/** The body is serialized only once, so every attempt sends and signs the same bytes. */
export function eventBody({ id, type, agent_id, data, time }: NewEvent & { id: string; type: EventType }): string {
  return JSON.stringify({ id, type, timestamp: formatTime(time), agent_id, data: data() })
}

const NONE: readonly string[] = []
/** If more runs than this are cached, all are dropped and loaded again, without those that have ended. */
const MAX_REMEMBERED_RUNS = 10_000

/**
 * Knows which runs have callbacks, so that a run without callbacks costs no query. It may contain too many runs: if a
 * callback was deleted, it just isn't found when the run ends.
 */
class RunsWithCallbacks {
  readonly #storage: Pick<Storage, 'db' | 'hears'>
  #requests: Set<string> | undefined
  #loading: Promise<Set<string>> | undefined

  constructor(storage: Pick<Storage, 'db' | 'hears' | 'onChange'>) {
    this.#storage = storage
    storage.onChange((change, id) => {
      if (change !== 'callbacks') return
      // The result being loaded may not contain this run.
      this.#loading = undefined
      if (id === undefined || (this.#requests?.size ?? 0) >= MAX_REMEMBERED_RUNS) this.#requests = undefined
      else this.#requests?.add(id)
    })
  }

  /** The IDs of the callbacks of the event's run. */
  async callbacksOf({ request_id }: NewEvent): Promise<readonly string[]> {
    if (request_id === undefined) return NONE
    const requests = (this.#storage.hears() && this.#requests) || (await this.#load())
    return requests.has(request_id) ? this.#find(request_id) : NONE
  }

  async #find(request_id: string): Promise<string[]> {
    const found = await callbacks.listOfRequest(this.#storage.db, request_id)
    return found.filter(({ status }) => status === 'enabled').map(({ id }) => id)
  }

  async #load(): Promise<Set<string>> {
    const current = (this.#loading ??= callbacks.listRequests(this.#storage.db).then((ids) => new Set(ids)))
    try {
      const loaded = await current
      if (this.#loading === current && this.#storage.hears()) this.#requests = loaded
      return loaded
    } finally {
      // If it failed, the next run loads it again.
      if (this.#loading === current) this.#loading = undefined
    }
  }
}
