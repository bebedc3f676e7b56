import type { Logger } from '../../lib/log.ts'
import type { Storage } from '../open-storage.ts'

/**
 * How jobs of one kind are run, one at a time on each node. A job is done when `run` resolves, and tried again when it
 * rejects.
 */
export type JobHandler = {
  /** `signal` is aborted when the service stops or the lease was lost. The handler should then end soon. */
  run(signal: AbortSignal): Promise<void>
  /** For recurring work. One such job always exists, and runs again this long after its last end. */
  every_ms?: number
  /** For work that a process which was killed may have left: one such job is queued at each start. */
  atStart?: true
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
