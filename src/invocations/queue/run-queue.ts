import { findSnapshotBySeq } from '../../agents/agent-snapshot.ts'
import { laneKey, ownerOf } from '../../lib/work/lane-key.ts'
import { waitAtMost } from '../../lib/work/wait-at-most.ts'
import { type WorkBatch, Worker } from '../../lib/work/worker.ts'
import type { Parts } from '../../operation/parts.ts'
import { announce } from '../../storage/database.ts'
import { LEASE_MS } from '../../storage/leases/lease.ts'
import { take } from '../runs.ts'
import { type BackgroundParts, BackgroundRuns } from './background-runs.ts'
import { listWaitingAgents, type TakenRun } from './queue-store.ts'
import { findNextWake, queueWaitingOfPaused, wakeDue, wakeForBudgets, wakeParents } from './waiting-store.ts'

/** How many background runs this node runs at once. They mostly wait for a model. Others stay in the queue. */
const SHARE = { total: 64, ofLane: () => 32 }
/** How soon the queue is checked again when the journal has no room for more runs. */
const OVERLOAD_MS = 250
/** How long runs may take to end when the service stops. */
const STOP_MS = 5_000
/** All waiting runs (`status: waiting`) share one lane. */
const WAITING = 'waiting'

type QueueParts = BackgroundParts & Pick<Parts, 'errands' | 'node'>

/**
 * Runs what `Prefer: respond-async` has queued. Each agent has a lane, so projects alternate, and so do the agents of
 * each; within a lane, runs start in order of arrival. A queued run wakes its lane, and so does the end of a run that
 * is counted in the agent's limit.
 */
export class RunQueue {
  readonly #parts: QueueParts
  readonly #worker: Worker<TakenRun>
  /** Returns waiting runs to the queue when their time comes. */
  readonly #waking: Worker<never>
  readonly #runs: BackgroundRuns

  constructor(parts: QueueParts) {
    const { errands, live, log, now, storage } = parts
    this.#parts = parts
    const failed = (err: unknown) => log.warn({ err }, 'could not look for queued invocations')
    this.#worker = new Worker({
      share: SHARE,
      serve: (lane, places) => this.#take(Number(ownerOf(lane)), places),
      run: (taken) => this.#runs.run(taken),
      async survey() {
        const due_at = now()
        const waiting = await listWaitingAgents(storage.db)
        return waiting.map(({ project_id, seq }) => ({ key: laneKey(project_id, seq), due_at }))
      },
      failed,
      now,
    })
    this.#waking = new Worker({
      share: { total: 1, ofLane: () => 1 },
      serve: () => this.#wakeDue(),
      survey: async () => [{ key: WAITING, due_at: (await findNextWake(storage.db)) ?? Number.POSITIVE_INFINITY }],
      failed,
      now,
    })
    this.#runs = new BackgroundRuns(parts)
    live.onEnded(({ abandoned, begun_lanes, parent_request_id, limited_lane }) => {
      if (limited_lane !== undefined) this.#worker.freed(limited_lane)
      for (const lane of begun_lanes) this.#worker.wake(lane)
      // It may have begun to wait, and its wait may already be over.
      if (abandoned) this.#waking.survey()
      if (parent_request_id !== undefined) {
        errands.begin('resuming a run that waited for another one', () => this.#wakeParent(parent_request_id))
      }
    })
    storage.onChange((change, lane) => {
      if (change !== 'queue') return
      if (lane === undefined) this.survey()
      else this.#worker.wake(lane)
    })
    this.survey()
  }

  /** Looks for runs that other nodes have queued or left unfinished, and for runs whose wait is over. */
  survey(): void {
    this.#worker.survey()
    this.#waking.survey()
  }

  /** A pause cancels the agent's runs, including waiting ones. Without an ID, it checks every paused agent. */
  async wakePaused(agent_id: string | undefined): Promise<void> {
    const { storage, now } = this.#parts
    const woken = await storage.transaction((db) => queueWaitingOfPaused(db, agent_id, now()))
    if (woken > 0) this.#worker.survey()
  }

  /**
   * Starts no more runs. Those in progress are cancelled, and wait at their old positions in the queue for another node
   * or for the next start.
   */
  async close(): Promise<void> {
    const closed = [this.#worker.close(), this.#waking.close()]
    const cancelled = this.#runs.stop()
    await waitAtMost(Promise.all(closed), STOP_MS)
    const { storage, log } = this.#parts
    if (cancelled === 0) return
    await storage
      .transaction((db) => announce(db, 'queue'))
      .catch((err) => log.warn({ err }, 'could not notify other nodes of the runs that resume'))
  }

  /** Each run that is taken has a place in the journal, so its entry is always accepted. */
  async #take(agent_seq: number, places: number): Promise<WorkBatch<TakenRun>> {
    const { journal, node: owner, now, storage } = this.#parts
    let limit = 0
    while (limit < places && journal.reserve()) limit++
    if (limit === 0) return { items: [], next: now() + OVERLOAD_MS }
    let begun = 0
    try {
      const taken = await take(storage.db, { agent_seq, limit, owner, now: now(), lease_ms: LEASE_MS })
      begun = taken.items.length
      return taken
    } finally {
      for (let unused = limit - begun; unused > 0; unused--) journal.release()
    }
  }

  /**
   * A run for which another one waits has ended. If this node dies before it announces this, a later check finds it.
   */
  async #wakeParent(request_id: string): Promise<void> {
    const { storage } = this.#parts
    for (const seq of await storage.transaction((db) => wakeParents(db, request_id))) {
      const agent = (await findSnapshotBySeq(seq, this.#parts))?.agent
      if (agent) this.#worker.wake(laneKey(agent.project_id, seq))
    }
  }

  async #wakeDue(): Promise<WorkBatch<never>> {
    const { storage, now } = this.#parts
    const due = await storage.transaction((db) => wakeDue(db, now()))
    const hopeful = await storage.transaction((db) => wakeForBudgets(db))
    const answered = await storage.transaction((db) => wakeParents(db))
    if (due + hopeful + answered.length > 0) this.#worker.survey()
    return { items: [], next: await findNextWake(storage.db) }
  }
}
