import { redact } from '../../lib/text/redact.ts'
import type { JobHandler, JobOptions } from './job-handler.ts'
import type { TakenJob } from './jobs.ts'
import * as jobs from './jobs.ts'

const ERROR_LENGTH = 2_000

export type RunningJob = {
  job: TakenJob
  stop: AbortController
  /** Whether another process has taken over the job. */
  isLost: boolean
}

/** Runs a job and stores its result. */
export async function runJob(
  { storage, now, log }: JobOptions,
  { run, every_ms }: JobHandler,
  running: RunningJob,
): Promise<void> {
  const { job, stop } = running
  const { id, kind, attempts } = job
  const requeue = (run_at: number, counted: number) =>
    storage.transaction((db) => jobs.requeue(db, job, { run_at, attempts: counted }))
  try {
    await run(stop.signal)
  } catch (err) {
    if (running.isLost) return
    if (stop.signal.aborted) return requeue(now(), attempts - 1)
    await requeue(now() + Math.min(backoff(attempts), every_ms ?? Number.POSITIVE_INFINITY), attempts)
    // Logged after the write, so a job that failed because the database is unavailable isn't logged separately.
    const error = redact(err instanceof Error ? err.message : String(err)).slice(0, ERROR_LENGTH)
    log.warn({ kind, job: id, attempts, error }, 'a job failed and will be retried')
    return
  }
  if (every_ms !== undefined) return requeue(now() + every_ms, 0)
  await jobs.finish(storage.db, job)
}

/**
 * The wait before the next attempt: 1 s, 2 s, 4 s … up to 10 minutes. A random fifth more or less prevents jobs that
 * failed together from being retried together.
 */
function backoff(attempts: number): number {
  return Math.round(Math.min(1_000 * 2 ** (attempts - 1), 600_000) * (0.8 + Math.random() * 0.4))
}
