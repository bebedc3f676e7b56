import { runQueued, stopCancelled, stopUnwanted, tendRuns } from './invocations/background.ts'
import { INVOCATION_JOB } from './invocations/invoke-agent.ts'
import type { Parts } from './operation.ts'
import { openJobs } from './storage/run-jobs.ts'

const TEND_RUNS_MS = 10_000
const JOB_LEASE_MS = 30_000
/** Background invocations mostly wait for a model; the rest wait in the queue. */
const CONCURRENT_INVOCATIONS = 32

export type Background = { close(graceMs: number): Promise<void> }

/** Everything a node does without being asked. */
export function startBackground(parts: Parts): Background {
  const { log, storage } = parts
  const report = (what: string) => (err: unknown) => log.warn({ err }, `${what} failed, and will be tried again`)

  const jobs = openJobs(parts, {
    [INVOCATION_JOB]: {
      concurrency: CONCURRENT_INVOCATIONS,
      lease_ms: JOB_LEASE_MS,
      run: (payload, { signal }) => runQueued(payload as { agent_id: string; request_id: string }, signal, parts),
    },
  })

  storage.onChange((change) => {
    if (change === 'agents') stopUnwanted(parts).catch(report('stopping the runs of a paused agent'))
    if (change === 'cancellations') stopCancelled(parts).catch(report('stopping cancelled runs'))
  })
  const tend = () => tendRuns(parts).catch(report('looking after running invocations'))
  tend()
  const tending = setInterval(tend, TEND_RUNS_MS)

  return {
    async close(graceMs) {
      clearInterval(tending)
      await jobs.close(graceMs)
    },
  }
}
