import type { JobHandler, JobOptions } from './job-handler.ts'
import { JobLane } from './job-lane.ts'

export type Jobs = {
  /** Looks for work now, for example after a change of the clock. New jobs are noticed without it. */
  wake(): void
  /** Takes no more work and aborts running jobs. Those that do not end within moments go back into the queue. */
  close(): Promise<void>
}

/** Runs the jobs in the database. Each kind has its own lane, so that slow jobs delay only jobs of their kind. */
export function openJobs(options: JobOptions, handlers: Record<string, JobHandler>): Jobs {
  const lanes = Object.entries(handlers).map(([kind, handler]) => new JobLane(options, kind, handler))
  const wake = () => {
    for (const lane of lanes) lane.wake()
  }
  options.storage.onChange((change) => {
    if (change === 'jobs') wake()
  })
  wake()
  return {
    wake,
    async close() {
      await Promise.all(lanes.map((lane) => lane.close()))
    },
  }
}
