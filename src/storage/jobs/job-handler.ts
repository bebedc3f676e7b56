import type { Logger } from '../../lib/log.ts'
import type { Storage } from '../open-storage.ts'

/**
 * How jobs of one kind are run, one at a time per node. A job is done when `run` resolves, and retried when it rejects.
 */
export type JobHandler = {
  /** The signal aborts when the service stops or the lease is lost. The handler should then end soon. */
  run(signal: AbortSignal): Promise<void>
  /** For recurring work. One job of this kind always exists, and runs again this long after its last run has ended. */
  every_ms?: number
  /** For work that a killed process may have left. One job of this kind is queued at each start. */
  atStart?: true
}

export type JobOptions = {
  storage: Storage
  now: () => number
  log: Logger
  /** The name of this process among all processes that use the store. */
  node: string
  /** How long the jobs of a killed process keep their leases, which are renewed while jobs run. */
  lease_ms?: number
}
