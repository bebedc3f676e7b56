import * as logs from './logs/store.ts'
import * as metrics from './metrics/store.ts'
import type { Parts } from './operation.ts'
import * as claims from './storage/claims.ts'
import * as jobs from './storage/jobs.ts'
import type { JobHandler } from './storage/run-jobs.ts'
import { type Sweepable, sweep } from './storage/sweep.ts'

const HOUR_MS = 3_600_000
const FAILED_JOBS_KEPT_MS = 30 * 24 * HOUR_MS

/** What the service does besides answering, by kind of job. */
export function background(parts: Parts): Record<string, JobHandler> {
  const { retention } = parts.config
  const old: Sweepable[] = [
    { name: 'logs', keep_ms: retention.logs, remove: logs.remove },
    { name: 'metrics', keep_ms: retention.metrics, remove: metrics.remove },
    { name: 'idempotency keys', keep_ms: 0, remove: claims.removeExpired },
    { name: 'failed jobs', keep_ms: FAILED_JOBS_KEPT_MS, remove: jobs.removeFailed },
  ]
  const ofDeletedAgents: Sweepable[] = [
    { name: 'logs of deleted agents', remove: logs.removeOfMissingAgents },
    { name: 'metrics of deleted agents', remove: metrics.removeOfMissingAgents },
  ].map(({ name, remove }) => ({ name, keep_ms: 0, remove: (db, _before, limit) => remove(db, limit) }))

  return {
    /** Comes with every deleted agent. */
    purge: sweep(parts, ofDeletedAgents),
    /** Also finds what an invocation wrote after its agent had gone. */
    retention: { ...sweep(parts, [...old, ...ofDeletedAgents]), every_ms: HOUR_MS },
  }
}
