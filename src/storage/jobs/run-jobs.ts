import type { JobHandler, JobOptions } from './job-handler.ts'
import { JobLane } from './job-lane.ts'

export type Jobs = {
  /** Looks for work now, as after a change of the clock. New jobs are noticed without it. */
  wake(): void
  /** Takes no more work and aborts what runs, which goes back into the queue unless it is done within moments. */
  close(): Promise<void>
}

/** Runs the jobs of the database. Each kind has a lane of its own, so that slow work holds up only its like. */
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
