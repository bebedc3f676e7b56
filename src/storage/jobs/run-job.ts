import { redact } from '../../lib/text/redact.ts'
import { jsonOf } from '../damaged-rows.ts'
import type { Database } from '../database.ts'
import type { JobHandler, JobOptions } from './job-handler.ts'
import type { TakenJob } from './jobs.ts'
import * as jobs from './jobs.ts'

const MAX_ATTEMPTS = 10
const ERROR_LENGTH = 2_000

export type RunningJob = {
  job: TakenJob
  stop: AbortController
  /** Another process has taken over the job. */
  isLost: boolean
}

/** Runs a job and stores how it ended. */
export async function runJob(
  { storage, now, log }: JobOptions,
  handler: JobHandler,
  running: RunningJob,
): Promise<void> {
  const { every_ms, max_attempts = MAX_ATTEMPTS, retry_ms = backoff } = handler
  const { job, stop } = running
  const { id, kind, attempts } = job
  const requeue = (run_at: number, counted: number, error: string | null) =>
    storage.transaction((db) => jobs.requeue(db, job, { run_at, attempts: counted, error }))
  const giveUp = async (error: string) => {
    log.warn({ kind, job: id, attempts, error }, 'a job failed for good')
    await jobs.giveUp(storage.db, job, error, now())
  }

  if (attempts > max_attempts && every_ms === undefined) return giveUp('the process ended during its last attempt')
  try {
    const finish = (db: Database) => jobs.finish(db, job)
    await handler.run(jsonOf('job', job)('payload'), { signal: stop.signal, attempts, finish })
  } catch (err) {
    if (running.isLost) return
    if (stop.signal.aborted) return requeue(now(), attempts - 1, null)
    const error = redact(err instanceof Error ? err.message : String(err)).slice(0, ERROR_LENGTH)
    if (attempts >= max_attempts && every_ms === undefined) return giveUp(error)
    await requeue(now() + Math.min(retry_ms(attempts), every_ms ?? Number.POSITIVE_INFINITY), attempts, error)
    // Told after it was written: a job that failed because the database is away is no line of its own.
    log.warn({ kind, job: id, attempts, error }, 'a job failed and is tried again')
    return
  }
  if (every_ms !== undefined) return requeue(now() + every_ms, 0, null)
  await jobs.finish(storage.db, job)
}

/**
 * 1 s, 2 s, 4 s … up to 10 minutes. A random fifth more or less keeps jobs that failed together from coming back
 * together.
 */
function backoff(attempts: number): number {
  return Math.round(Math.min(1_000 * 2 ** (attempts - 1), 600_000) * (0.8 + Math.random() * 0.4))
}
