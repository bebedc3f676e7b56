import { removeOldEntries } from './audit/chain.ts'
import { INVOCATION_JOB } from './invocations/invoke-agent.ts'
import {
  failQueued,
  type QueuedInvocation,
  runQueued,
  stopCancelled,
  stopUnwanted,
  tendRuns,
} from './invocations/run-queued.ts'
import * as invocations from './invocations/store.ts'
import * as logs from './logs/store.ts'
import { embedMemories } from './memory/embed-memories.ts'
import * as memory from './memory/store.ts'
import * as metrics from './metrics/store.ts'
import type { Parts } from './operation/parts.ts'
import * as claims from './storage/claims.ts'
import * as jobs from './storage/jobs/jobs.ts'
import { type JobHandler, type Jobs, openJobs } from './storage/jobs/run-jobs.ts'
import { type Sweepable, sweep } from './storage/jobs/sweep.ts'
import * as deliveries from './webhooks/delivery/delivery-store.ts'

const HOUR_MS = 3_600_000
const FAILED_JOBS_KEPT_MS = 30 * 24 * HOUR_MS
const TEND_RUNS_MS = 10_000
const JOB_LEASE_MS = 30_000
/** Background invocations mostly wait for a model; the rest wait in the queue. */
const CONCURRENT_INVOCATIONS = 32

export type Background = { jobs: Jobs; close(): Promise<void> }

/** Everything a node does without being asked. */
export function startBackground(parts: Parts): Background {
  const { log, storage } = parts
  const report = (what: string) => (err: unknown) => log.warn({ err }, `${what} failed, and will be tried again`)

  const running = openJobs(parts, jobHandlers(parts))
  storage.onChange((change) => {
    if (change === 'agents') stopUnwanted(parts).catch(report('stopping the runs of a paused agent'))
    if (change === 'cancellations') stopCancelled(parts).catch(report('stopping cancelled runs'))
  })
  const tend = () => tendRuns(parts).catch(report('looking after running invocations'))
  tend()
  const tending = setInterval(tend, TEND_RUNS_MS)

  return {
    jobs: running,
    async close() {
      clearInterval(tending)
      await running.close()
    },
  }
}

function jobHandlers(parts: Parts): Record<string, JobHandler> {
  const { retention } = parts.config
  const old: Sweepable[] = [
    { name: 'logs', keep_ms: retention.logs, remove: logs.remove },
    { name: 'metrics', keep_ms: retention.metrics, remove: metrics.remove },
    { name: 'invocations', keep_ms: retention.invocations, remove: invocations.remove },
    { name: 'deliveries', keep_ms: retention.deliveries, remove: deliveries.removeOlder },
    { name: 'audit log', keep_ms: retention.audit, remove: removeOldEntries },
    { name: 'idempotency keys', keep_ms: 0, remove: claims.removeExpired },
    { name: 'failed jobs', keep_ms: FAILED_JOBS_KEPT_MS, remove: jobs.removeFailed },
  ]
  const ofDeletedAgents: Sweepable[] = [
    { name: 'logs of deleted agents', remove: logs.removeOfMissingAgents },
    { name: 'metrics of deleted agents', remove: metrics.removeOfMissingAgents },
    { name: 'memories of deleted agents', remove: memory.removeOfMissingAgents },
    { name: 'invocations of deleted agents', remove: invocations.removeOfMissingAgents },
    { name: 'deliveries of deleted webhooks', remove: deliveries.removeOrphans },
  ].map(({ name, remove }) => ({ name, keep_ms: 0, remove: (db, _before, limit) => remove(db, limit) }))

  return {
    [INVOCATION_JOB]: {
      concurrency: CONCURRENT_INVOCATIONS,
      lease_ms: JOB_LEASE_MS,
      run: (payload, run) => runQueued(payload as QueuedInvocation, run, parts),
      gaveUp: (payload, giveUp) => failQueued(payload as QueuedInvocation, giveUp, parts),
    },
    ...(parts.embedder && { embeddings: embedMemories(parts.embedder, parts) }),
    /** Comes with every deleted agent and webhook. */
    purge: sweep(parts, ofDeletedAgents),
    /** Also finds what an invocation wrote after its agent had gone. */
    retention: { ...sweep(parts, [...old, ...ofDeletedAgents]), every_ms: HOUR_MS },
  }
}
