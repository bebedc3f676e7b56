import * as agents from '../agents/store.ts'
import { isBusy } from '../invocations/find-invocations.ts'
import { rightToRun } from '../invocations/queue/right-to-run.ts'
import { scheduledRun } from '../invocations/queue/scheduled-run.ts'
import { enqueueRun } from '../invocations/runs.ts'
import { type WorkBatch, Worker } from '../lib/work/worker.ts'
import { ownLogWrite } from '../logs/store.ts'
import type { Parts } from '../operation/parts.ts'
import { isFull } from '../projects/project.ts'
import * as projects from '../projects/store.ts'
import type { Database } from '../storage/database.ts'
import { writeRows } from '../storage/journal/write-rows.ts'
import { type Due, decideTick } from './decide-tick.ts'
import type { Schedule } from './schedule.ts'
import * as schedules from './store.ts'
import { timesOf } from './times.ts'

/** How soon to check again ticks that another node is taking, or that couldn't be written. */
const AGAIN_MS = 1_000
const TICKS_PER_LOOK = 50
/** The ticks of all schedules have one lane. */
const TICKS = 'ticks'

type TickerParts = Pick<Parts, 'log' | 'newId' | 'now' | 'storage' | 'telemetry'>

/**
 * Starts the runs of schedules when their ticks are due. A node has one timer, for the nearest tick of all schedules.
 * Every node tries to take a tick; it is taken in the transaction that queues its run, so it starts one run or none.
 */
export class Ticker {
  readonly #parts: TickerParts
  readonly #worker: Worker<never>

  constructor(parts: TickerParts) {
    this.#parts = parts
    this.#worker = new Worker({
      share: { total: 1, ofLane: () => 1 },
      serve: () => this.#takeDue(),
      failed: (err) => parts.log.warn({ err }, 'could not look for due schedules'),
      now: parts.now,
    })
    parts.storage.onChange((change) => {
      // A resumed agent or project has ticks to take.
      if (change === 'schedules' || change === 'agents' || change === 'pauses') this.wake()
    })
  }

  /** Looks for ticks that are due. */
  wake(): void {
    this.#worker.wake(TICKS)
  }

  close(): Promise<void> {
    return this.#worker.close()
  }

  /** Takes the ticks that are due. A tick needs no lease: it is over when it is taken. */
  async #takeDue(): Promise<WorkBatch<never>> {
    const { now, storage } = this.#parts
    const nearest = await schedules.listNearest(storage.db, TICKS_PER_LOOK)
    const time = now()
    const due = nearest.filter(({ next_at }) => next_at <= time)
    if (due.length === 0) return { items: [], next: nearest[0]?.next_at }
    const taken = await Promise.all(due.map((schedule) => this.#tick(schedule)))
    // More may be due than are taken at once.
    return { items: [], next: taken.includes(false) ? time + AGAIN_MS : time }
  }

  /** Returns false if this node did not get the tick. */
  async #tick(due: Due): Promise<boolean> {
    const { log, now, storage } = this.#parts
    try {
      const { agent, after, run, entries } = await this.#prepare(due)
      const taken = await storage.transaction(async (db) => {
        if (!(await schedules.takeTick(db, due, after))) return undefined
        await writeRows(db, entries)
        const time = now()
        const isQueued = !run || (await enqueueRun(db, { ...run, agent }, time))
        return isQueued ? after : skip(db, due, after, { agent_seq: agent.seq, now: time })
      })
      if (taken) this.#count(due, taken)
      return taken !== undefined
    } catch (err) {
      log.warn({ err, schedule: due.id }, "could not store a schedule's next run; it will be retried")
      return false
    }
  }

  #count(before: Due, after: Schedule): void {
    const { ticks } = this.#parts.telemetry
    if (after.last_tick_at !== before.last_tick_at) ticks.add(1, 'run')
    if (after.missed > before.missed) ticks.add(after.missed - before.missed, 'missed')
    if (after.skipped > before.skipped) ticks.add(1, 'skipped')
  }

  /** What the tick writes: the schedule after it, the run that it starts and the agent's log entries. */
  async #prepare(due: Due) {
    const { newId, now, storage } = this.#parts
    const agent = await agents.get(storage.db, due.agent_id)
    // A schedule stops when the key that changed it last ends.
    const { person_id, ...key } = await rightToRun(storage.db, due, agent, now())
    const { after, runs_for, told } = await decideTick(due, {
      now: now(),
      times: await timesOf(due),
      key: key.status,
      isAgentPaused: agent.status === 'paused',
      isProjectFull: isFull(await projects.get(storage.db, agent.project_id)),
      isBusy: due.overlap === 'skip' && (await isBusy(storage.db, agent.seq, due.id)),
    })
    // These entries belong to no run, so they are found by the id of the schedule.
    const entries = told.map((entry) => ownLogWrite({ agent_seq: agent.seq, request_id: due.id }, entry))
    if (runs_for === undefined) return { agent, after, entries }

    const request_id = newId('req', now())
    const tick = { door: 'schedule', schedule_id: due.id, scheduled_at: runs_for } as const
    const actor = { id: due.updated_by, ...(person_id && { person_id }) }
    const by = { request_id, actor, authors: due.authors, ...tick }
    const run = await scheduledRun(due, agent, by, { db: storage.db, now })
    return { agent, after: { ...after, last_tick_at: runs_for, last_request_id: request_id }, run, entries }
  }
}

/** Its session is busy, and the agent refuses runs then. Returns the schedule after that. */
async function skip(
  db: Database,
  due: Due,
  { skipped, ...after }: Schedule,
  { agent_seq, now }: { agent_seq: number; now: number },
): Promise<Schedule> {
  const { last_tick_at, last_request_id } = due
  const last_skipped_at = after.last_tick_at
  const left = { ...after, skipped: skipped + 1, last_skipped_at, last_tick_at, last_request_id }
  await schedules.update(db, left)
  const message = 'Schedule skipped a run: another run of its session is in progress'
  const entry = { timestamp: now, level: 'warn', message, metadata: { schedule_id: due.id } } as const
  await writeRows(db, [ownLogWrite({ agent_seq, request_id: due.id }, entry)])
  return left
}
