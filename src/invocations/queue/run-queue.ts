import { findSnapshotBySeq } from '../../agents/agent-snapshot.ts'
import type { Share } from '../../lib/work/fair-lanes.ts'
import { laneKey, ownerOf } from '../../lib/work/lane-key.ts'
import { waitAtMost } from '../../lib/work/wait-at-most.ts'
import { type WorkBatch, Worker } from '../../lib/work/worker.ts'
import type { Parts } from '../../operation/parts.ts'
import { announce } from '../../storage/database.ts'
import { LEASE_MS } from '../../storage/leases/lease.ts'
import { settleConnected } from '../approvals/settle-connected.ts'
import { take } from '../runs.ts'
import { interactiveLane, listFreeTurns, passTurn, readAwaited } from '../turns/turn-store.ts'
import { type BackgroundParts, BackgroundRuns } from './background-runs.ts'
import { listWaitingAgents, type TakenRun, type WhichQueued } from './queue-store.ts'
import { findNextWake, queueWaitingOfPaused, wakeDue, wakeForBudgets, wakeParents } from './waiting-store.ts'

/** How many background runs this node runs at once, because they mostly wait for a model. Others stay in the queue. */
const SHARE = { total: 64, ofLane: () => 32 }
/** Interactive runs have separate places, as many as the journal has, because a client may be waiting for each. */
const INTERACTIVE_SHARE = { total: 10_000, ofLane: () => 10_000, inTurn: 64 }
/** How many free turns are passed on in one check. */
const TURNS_AT_ONCE = 100
/** How soon the queue is checked again when the journal has no room for more runs. */
const OVERLOAD_MS = 250
/** How long runs may take to end when the service stops. */
const STOP_MS = 5_000
/** All waiting runs (`status: waiting`) share one lane. */
const WAITING = 'waiting'

type QueueParts = BackgroundParts & Pick<Parts, 'errands' | 'node'>

/**
 * Runs what `Prefer: respond-async` has queued, and runs whose turn in their session has come. Each agent has a lane;
 * projects alternate, and so do the agents of a project. Within a lane, runs start in the order of their rank: the time
 * of arrival, shifted by the priority. A lane wakes when a run is queued in it, and when a run that the agent's limit
 * counts has ended.
 */
export class RunQueue {
  readonly #parts: QueueParts
  readonly #worker: Worker<TakenRun>
  /** Takes only interactive runs, so they don't wait for runs that occupy all places of the other worker. */
  readonly #interactive: Worker<TakenRun>
  /** Returns waiting runs to the queue when their time comes. */
  readonly #waking: Worker<never>
  readonly #runs: BackgroundRuns
  #isClosing = false

  constructor(parts: QueueParts) {
    const { errands, live, log, now, storage } = parts
    this.#parts = parts
    const failed = (err: unknown) => log.warn({ err }, 'could not look for queued invocations')
    const takes = (queued: WhichQueued, share: Share) =>
      new Worker<TakenRun>({
        share,
        serve: (lane, places) => this.#take(Number(ownerOf(lane)), queued, places),
        run: (taken) => this.#runs.run(taken),
        async survey() {
          const due_at = now()
          const waiting = await listWaitingAgents(storage.db, queued)
          return waiting.map(({ project_id, seq }) => ({ key: laneKey(project_id, seq), due_at }))
        },
        failed,
        now,
      })
    this.#worker = takes('all', SHARE)
    this.#interactive = takes('interactive', INTERACTIVE_SHARE)
    this.#waking = new Worker({
      share: { total: 1, ofLane: () => 1 },
      serve: () => this.#wakeDue(),
      survey: async () => [{ key: WAITING, due_at: (await findNextWake(storage.db)) ?? Number.POSITIVE_INFINITY }],
      failed,
      now,
    })
    this.#runs = new BackgroundRuns(parts)
    live.onEnded(({ abandoned, begun_lanes, begun_sessions, parent_request_id, limited_lane, session }) => {
      if (limited_lane !== undefined) for (const worker of this.#takers) worker.freed(limited_lane)
      if (session?.isPassed) this.#lookAt(session.lane)
      if (session?.isAwaited) this.#passTurn(session.key)
      for (const key of begun_sessions) this.#passTurn(key)
      for (const lane of begun_lanes) this.#worker.wake(lane)
      // The run may have begun to wait, and its wait may already be over.
      if (abandoned) this.#waking.survey()
      if (parent_request_id !== undefined) {
        errands.begin('resuming a run that waited for another one', () => this.#wakeParent(parent_request_id))
      }
    })
    storage.onChange((change, id) => {
      if (change === 'turns') this.#hearOfTurn(id)
      if (change !== 'queue') return
      const [lane, isInteractive] = id?.split(' ') ?? []
      if (lane === undefined) this.survey()
      else if (isInteractive) this.#wakeInteractive(lane)
      else this.#worker.wake(lane)
    })
    this.survey()
  }

  get #takers(): readonly Worker<TakenRun>[] {
    return [this.#worker, this.#interactive]
  }

  /** Looks for runs that other nodes have queued or left unfinished, and for runs whose wait is over. */
  survey(): void {
    for (const worker of this.#takers) worker.survey()
    this.#waking.survey()
  }

  /**
   * Other runs of the session wait for a run's turn. If that run is on this node, it passes the turn on when it ends.
   */
  #hearOfTurn(id: string | undefined): void {
    const { live, node } = this.#parts
    if (id === undefined) {
      for (const { session } of live.all()) if (session) session.isAwaited = true
      return this.#waking.survey()
    }
    const { session_key, holder, owner } = readAwaited(id)
    if (holder === undefined) this.#passTurn(session_key)
    else if (owner === node && !live.tellAwaited(session_key, holder)) this.#passTurn(session_key, holder)
  }

  /** `told` is a run on this node that has the turn and knows that others wait for it. */
  #passTurn(session_key: string, told?: string): void {
    const { errands, live, storage } = this.#parts
    errands.begin('passing on the turn of a session', async () => {
      const holder = await passTurn(storage, session_key, told)
      if (told !== undefined && holder !== told) live.forgetAwaited(told)
    })
  }

  /** A run of this lane got the turn of its session in the commit that ended another one. */
  #lookAt(lane: string): void {
    this.#worker.wake(lane)
    this.#wakeInteractive(lane)
    const { errands, storage } = this.#parts
    if (!this.#isClosing) return
    errands.begin('telling other nodes whose turn it is', () =>
      storage.transaction(async (db) => {
        for (const change of [lane, interactiveLane(lane)]) await announce(db, 'queue', change)
      }),
    )
  }

  /** Wakes the lane even if it was full: its run may only have been locked while another run got in line behind it. */
  #wakeInteractive(lane: string): void {
    this.#interactive.freed(lane)
    this.#interactive.wake(lane)
  }

  /**
   * Queues the waiting runs of a paused agent, because a pause cancels them too. Without an ID, checks every paused
   * agent.
   */
  async wakePaused(agent_id: string | undefined): Promise<void> {
    const { storage, now } = this.#parts
    const woken = await storage.transaction((db) => queueWaitingOfPaused(db, agent_id, now()))
    if (woken > 0) this.survey()
  }

  /**
   * Starts no more runs. Those in progress are cancelled, and wait at their old positions in the queue for another node
   * or for the next start.
   */
  async close(): Promise<void> {
    this.#isClosing = true
    const closed = [...this.#takers, this.#waking].map((worker) => worker.close())
    const cancelled = this.#runs.stop()
    await waitAtMost(Promise.all(closed), STOP_MS)
    const { storage, log } = this.#parts
    if (cancelled === 0) return
    await storage
      .transaction((db) => announce(db, 'queue'))
      .catch((err) => log.warn({ err }, 'could not notify other nodes of the runs that resume'))
  }

  /** Every taken run has a place in the journal, so its entry is always accepted. */
  async #take(agent_seq: number, queued: WhichQueued, places: number): Promise<WorkBatch<TakenRun>> {
    const { journal, node: owner, now, storage } = this.#parts
    let limit = 0
    while (limit < places && journal.reserve()) limit++
    if (limit === 0) return { items: [], next: now() + OVERLOAD_MS }
    let begun = 0
    try {
      const taken = await take(storage.db, { agent_seq, queued, limit, owner, now: now(), lease_ms: LEASE_MS })
      begun = taken.items.length
      return taken
    } finally {
      for (let unused = limit - begun; unused > 0; unused--) journal.release()
    }
  }

  /**
   * Resumes a run when the run that it waited for has ended. If this node dies first, a later check finds the waiting
   * run.
   */
  async #wakeParent(request_id: string): Promise<void> {
    const { storage } = this.#parts
    for (const seq of await storage.transaction((db) => wakeParents(db, request_id))) {
      const agent = (await findSnapshotBySeq(seq, this.#parts))?.agent
      if (agent) for (const worker of this.#takers) worker.wake(laneKey(agent.project_id, seq))
    }
  }

  async #wakeDue(): Promise<WorkBatch<never>> {
    const { storage, now } = this.#parts
    const due = await storage.transaction((db) => wakeDue(db, now()))
    const hopeful = await storage.transaction((db) => wakeForBudgets(db))
    const answered = await storage.transaction((db) => wakeParents(db))
    const connected = await storage.transaction((db) => settleConnected(db, now()))
    for (const key of await listFreeTurns(storage.db, TURNS_AT_ONCE)) {
      await passTurn(storage, key)
    }
    if (due + hopeful + connected + answered.length > 0) for (const worker of this.#takers) worker.survey()
    return { items: [], next: await findNextWake(storage.db) }
  }
}
