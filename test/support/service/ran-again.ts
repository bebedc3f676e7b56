import { until } from '../running/until.ts'
import type { Service } from './service.ts'

/**
 * Moves the clock and waits until a job of this kind, of which there is one at a time, has run since. A run that began
 * before has not seen what the test did last.
 */
export async function ranAgain({ app, advance }: Service, kind: string, ms: number): Promise<void> {
  const { now, storage } = app.parts
  const find = () => storage.db.selectFrom('jobs').selectAll().where('kind', '=', kind).executeTakeFirst()
  const isAhead = (job: Awaited<ReturnType<typeof find>>) => job?.owner === null && job.run_at > now()
  let before: number | undefined
  await until(`${kind} neither runs nor is due`, async () => {
    const job = await find()
    before = job?.run_at
    return !job || isAhead(job)
  })
  advance(ms)
  app.jobs.wake()
  await until(`${kind} has run`, async () => {
    const job = await find()
    return isAhead(job) && job?.run_at !== before
  })
}
