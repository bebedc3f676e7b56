import { waitAtMost } from '../../lib/work/wait-at-most.ts'
import { Worker } from '../../lib/work/worker.ts'
import { keepLeases, LEASE_MS, newOwner } from '../leases/lease.ts'
import type { JobHandler, JobOptions } from './job-handler.ts'
import * as jobs from './jobs.ts'
import { type RunningJob, runJob } from './run-job.ts'

export type Jobs = {
  /** Looks for work now, for example after the clock has changed. New jobs are noticed without it. */
  wake(): void
  /** Takes no more work and aborts running jobs. Jobs that don't end quickly return to the queue. */
  close(): Promise<void>
}

/** How long a handler has to end after its signal. The jobs of slower handlers keep their lease until it ends. */
const STOP_MS = 5_000

/** By how much the nodes' clocks may differ. */
const TOLERATED_MS = 1_000

/** Runs the jobs in the database. Each kind has its own lane, so slow jobs delay only jobs of their kind. */
export function openJobs(options: JobOptions, handlers: Record<string, JobHandler>): Jobs {
  const { storage, now, node, log, lease_ms = LEASE_MS } = options
  const kinds = Object.keys(handlers)
  const running = new Map<string, RunningJob>()
  let isSeeded = false

  const seed = () =>
    storage.transaction(async (db) => {
      for (const [kind, { every_ms, atStart }] of Object.entries(handlers)) {
        if (every_ms !== undefined || atStart) await jobs.enqueue(db, { id: kind, kind, run_at: now() })
      }
    })
  /**
   * When a job is due. Recurring work never waits longer than its interval. If it would, the clock was set back, and
   * the work is due now.
   */
  const dueAt = async ({ key, due_at }: { key: string; due_at: number }) => {
    const time = now()
    const latest = time + (handlers[key]?.every_ms ?? Number.POSITIVE_INFINITY) + TOLERATED_MS
    if (due_at <= latest) return { key, due_at }
    await jobs.hurry(storage.db, key, latest, time)
    return { key, due_at: time }
  }
  const run = async (job: jobs.TakenJob): Promise<undefined> => {
    const { kind, id } = job
    const one: RunningJob = { job, stop: new AbortController(), isLost: false }
    running.set(id, one)
    await runJob(options, handlers[kind] as JobHandler, one).catch((err) =>
      log.warn({ kind, job: id, err }, "a job's result could not be stored; the job runs again when its lease expires"),
    )
    running.delete(id)
  }
  const worker = new Worker<jobs.TakenJob>({
    share: { total: Number.POSITIVE_INFINITY, ofLane: (kind) => (handlers[kind] ? 1 : 0) },
    async survey() {
      if (!isSeeded) await seed()
      isSeeded = true
      const found = await jobs.survey(storage.db, kinds)
      return Promise.all(found.map(dueAt))
    },
    serve(kind, limit) {
      const owner = newOwner(node)
      return jobs.takeDue(storage.db, { kind, limit, owner, lease_ms }, now())
    },
    run,
    failed: (err) => log.warn({ err }, 'could not look for jobs'),
    now,
  })
  const stopRenewing = keepLeases(jobs.LEASED_JOBS, {
    ...options,
    db: storage.db,
    lease_ms,
    held: () => [...running.values()].map(({ job }) => job.lease),
    lost({ key: [id = ''] }) {
      const lost = running.get(id)
      if (!lost) return
      lost.isLost = true
      lost.stop.abort(new Error('another process has taken over the job'))
    },
  })
  storage.onChange((change) => {
    if (change === 'jobs') worker.survey()
  })
  worker.survey()

  return {
    wake: () => worker.survey(),
    async close() {
      const closed = worker.close()
      for (const { stop } of running.values()) stop.abort(new Error('the service is stopping'))
      await waitAtMost(closed, STOP_MS)
      stopRenewing()
    },
  }
}
