import { randomUUID } from 'node:crypto'
import type { Json } from '../../lib/json.ts'
import type { Logger } from '../../lib/log.ts'
import { redact } from '../../lib/redact.ts'
import type { Database } from '../database.ts'
import type { Storage } from '../open-storage.ts'
import type { ClaimedJob } from './jobs.ts'
import * as jobs from './jobs.ts'

export type JobRun = {
  /** Aborted when the service stops or the lease was lost; the handler should end soon. */
  signal: AbortSignal
  /** 1 the first time. A run that a crash cut short counts. */
  attempts: number
  /**
   * Ends the job in the transaction of its effects, so that they happen once. False when another owner took over:
   * then nothing of this run may be kept. A handler without such effects need not call it.
   */
  finish(db: Database): Promise<boolean>
}

/** How jobs of one kind are run. A job is done when `run` resolves, and tried again when it rejects. */
export type JobHandler = {
  concurrency: number
  /** How long after a crash another may take the job; renewed while it runs. */
  lease_ms: number
  run(payload: Json, run: JobRun): Promise<void>
  /** After so many the job is kept as failed, with its error. */
  max_attempts?: number
  /**
   * Ends the work of a job that is given up. `giveUp` belongs into the transaction of what that writes, and is false
   * when another owner took over. The job comes back when this rejects.
   */
  gaveUp?(payload: Json, giveUp: (db: Database) => Promise<boolean>): Promise<void>
  /** The pause after the given attempt failed. */
  retry_ms?: (attempts: number) => number
  /** Recurring work: one such job exists always, and runs so long after its last end. It is never given up. */
  every_ms?: number
}

export type Jobs = {
  /** Looks for work now, as after a change of the clock. New jobs are noticed without it. */
  wake(): void
  /** Takes no more work and aborts what runs, which goes back into the queue unless it is done within moments. */
  close(): Promise<void>
}

type Options = { storage: Storage; now: () => number; log: Logger }

const MAX_ATTEMPTS = 10
/** An idle lane looks at the clock this often while something is due later. */
const POLL_MS = 1_000
/** How long a handler may take to end after its signal; one that does not keeps its lease until it runs out. */
const STOP_MS = 5_000
const ERROR_LENGTH = 2_000

/** Runs the jobs of the database. Each kind has a lane of its own, so that slow work holds up only its like. */
export function openJobs(options: Options, handlers: Record<string, JobHandler>): Jobs {
  const lanes = Object.entries(handlers).map(([kind, handler]) => openLane(options, kind, handler))
  options.storage.onChange((change) => {
    if (change === 'jobs') for (const lane of lanes) lane.wake()
  })
  for (const lane of lanes) lane.wake()
  return {
    wake() {
      for (const lane of lanes) lane.wake()
    },
    async close() {
      await Promise.all(lanes.map((lane) => lane.close()))
    },
  }
}

type Running = { job: ClaimedJob; stop: AbortController; lease_until: number; lost: boolean; ended: Promise<void> }

function openLane(options: Options, kind: string, handler: JobHandler): Jobs {
  const { storage, now, log } = options
  const { concurrency, lease_ms, every_ms } = handler
  const running = new Map<string, Running>()
  const leases = keepLeases(options, kind, lease_ms, running)
  let looking: Promise<void> | undefined
  let lookAgain = false
  let timer: NodeJS.Timeout | undefined
  let seeded = every_ms === undefined
  let closed = false

  const wake = () => {
    if (closed) return
    lookAgain = true
    looking ??= lookUntilDone()
  }

  const lookUntilDone = async () => {
    clearTimeout(timer)
    let pause: number | undefined
    while (lookAgain) {
      lookAgain = false
      pause = await look().catch((err) => {
        log.warn({ kind, err }, 'could not look for jobs')
        return POLL_MS
      })
    }
    looking = undefined
    if (pause !== undefined && !closed) timer = setTimeout(wake, pause)
  }

  /** Starts what is due. Returns when to look again; undefined when something else will tell. */
  const look = async (): Promise<number | undefined> => {
    if (!seeded) await storage.transaction((db) => jobs.enqueue(db, { id: kind, kind, payload: null, run_at: now() }))
    seeded = true
    const free = concurrency - running.size
    if (free === 0 || closed) return undefined
    // A process that slept through its own leases must not run its jobs twice.
    const except = [...running.keys()]
    const next = await jobs.nextRunAt(storage.db, kind, except)
    if (next === undefined) return undefined
    if (next > now()) return Math.min(next - now(), POLL_MS)
    const claimed = await jobs.claim(storage.db, { kind, limit: free, lease_ms, owner: randomUUID(), except }, now())
    for (const job of claimed) start(job)
    if (claimed.length > 0) lookAgain = true
    return POLL_MS
  }

  const start = (job: ClaimedJob) => {
    const stop = new AbortController()
    const run: Running = { job, stop, lease_until: now() + lease_ms, lost: false, ended: Promise.resolve() }
    running.set(job.id, run)
    run.ended = runJob(options, handler, run)
      .catch((err) => log.warn({ kind, job: job.id, err }, 'could not settle a job: it comes back when its lease ends'))
      .finally(() => {
        running.delete(job.id)
        wake()
      })
  }

  return {
    wake,
    async close() {
      closed = true
      clearTimeout(timer)
      await looking
      const ended = Promise.all([...running.values()].map((run) => run.ended))
      for (const { stop } of running.values()) stop.abort(new Error('the service stops'))
      await within(ended, STOP_MS)
      clearInterval(leases)
    },
  }
}

/** Runs a job and writes down how it went. */
async function runJob({ storage, now, log }: Options, handler: JobHandler, run: Running): Promise<void> {
  const { every_ms, max_attempts = MAX_ATTEMPTS, retry_ms = backoff } = handler
  const { job, stop } = run
  const { id, kind, attempts } = job
  const requeue = (run_at: number, counted: number, error: string | null) =>
    storage.transaction((db) => jobs.requeue(db, job, { run_at, attempts: counted, error }))

  const giveUp = async (error: string) => {
    log.warn({ kind, job: id, attempts, error }, 'a job failed for good')
    const settle = (db: Database) => jobs.giveUp(db, job, error, now())
    if (handler.gaveUp) await handler.gaveUp(JSON.parse(job.payload), settle)
    else await settle(storage.db)
  }

  if (attempts > max_attempts && every_ms === undefined) return giveUp('the process ended during its last attempt')
  try {
    const finish = (db: Database) => jobs.finish(db, job)
    await handler.run(JSON.parse(job.payload), { signal: stop.signal, attempts, finish })
  } catch (err) {
    if (run.lost) return
    if (stop.signal.aborted) return requeue(now(), attempts - 1, null)
    const error = redact(err instanceof Error ? err.message : String(err)).slice(0, ERROR_LENGTH)
    if (attempts >= max_attempts && every_ms === undefined) return giveUp(error)
    log.warn({ kind, job: id, attempts, error }, 'a job failed and is tried again')
    return requeue(now() + Math.min(retry_ms(attempts), every_ms ?? Number.POSITIVE_INFINITY), attempts, error)
  }
  if (every_ms !== undefined) return requeue(now() + every_ms, 0, null)
  await jobs.finish(storage.db, job)
}

/** Renews the leases of what runs; three renewals may fail before a lease does. What was lost is told to stop. */
function keepLeases(
  { storage, now, log }: Options,
  kind: string,
  lease_ms: number,
  running: ReadonlyMap<string, Running>,
): NodeJS.Timeout {
  const lose = (run: Running) => {
    if (running.get(run.job.id) !== run) return
    run.lost = true
    run.stop.abort(new Error('another process took the job over'))
  }
  const renew = async () => {
    const held = [...running.values()]
    if (held.length === 0) return
    const lease_until = now() + lease_ms
    const claimed = held.map(({ job }) => job)
    const ours = await jobs.renew(storage.db, claimed, lease_until)
    for (const run of held) {
      if (ours.has(run.job.id)) run.lease_until = lease_until
      else lose(run)
    }
  }
  return setInterval(() => {
    renew().catch((err) => {
      log.warn({ kind, err }, 'could not renew the leases of running jobs')
      for (const run of running.values()) if (run.lease_until <= now()) lose(run)
    })
  }, lease_ms / 4)
}

/** 1 s, 2 s, 4 s … up to 10 minutes, a fifth more or less so that what failed together does not come back together. */
function backoff(attempts: number): number {
  return Math.round(Math.min(1_000 * 2 ** (attempts - 1), 600_000) * (0.8 + Math.random() * 0.4))
}

async function within(work: Promise<unknown>, ms: number): Promise<void> {
  const limit = Promise.withResolvers<void>()
  const timer = setTimeout(limit.resolve, ms)
  await Promise.race([work, limit.promise])
  clearTimeout(timer)
}
