import type { Json } from '../../lib/json.ts'
import type { Logger } from '../../lib/log.ts'
import type { Database } from '../database.ts'
import type { Storage } from '../open-storage.ts'

/** One try at a job. */
export type JobAttempt = {
  /** Aborted when the service stops or the lease was lost. The handler should then end soon. */
  signal: AbortSignal
  /** 1 the first time. A try that was cut short by a crash counts too. */
  attempts: number
  /**
   * Ends the job in the transaction of its effects, so that they happen once. Returns false when another owner has
   * taken over; then nothing of this try may be kept. A handler without such effects need not call it.
   */
  finish(db: Database): Promise<boolean>
}

/** How jobs of one kind are run. A job is done when `run` resolves, and tried again when it rejects. */
export type JobHandler = {
  concurrency: number
  run(payload: Json, attempt: JobAttempt): Promise<void>
  /** After these tries the job is kept as failed, with its error. */
  max_attempts?: number
  /** The pause after the given attempt failed. */
  retry_ms?: (attempts: number) => number
  /** For recurring work. One such job always exists, and runs again this long after its last end. It is never given up. */
  every_ms?: number
}

export type JobOptions = {
  storage: Storage
  now: () => number
  log: Logger
  /** The name of this process among all that share the store. */
  node: string
  /** How long the jobs of a process that was killed keep their leases. They are renewed while the jobs run. */
  lease_ms?: number
}
