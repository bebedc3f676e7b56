import { storageOf, wakeJobs } from '../inside.ts'
import { until } from '../running/until.ts'
import type { Service } from './service.ts'

/**
 * Moves the clock and waits until a job of this kind, of which there is only one at a time, has run since then. A run
 * that began earlier hasn't seen the test's last change.
 */
export async function ranAgain(node: Service, kind: string, ms: number): Promise<void> {
  const { advance, now } = node
  const storage = storageOf(node)
  const find = () => storage.db.selectFrom('jobs').selectAll().where('kind', '=', kind).executeTakeFirst()
  const isAhead = (job: Awaited<ReturnType<typeof find>>) => job?.owner === null && job.run_at > now()
  let before: number | undefined
  await until(`${kind} neither runs nor is due`, async () => {
    const job = await find()
    before = job?.run_at
    return !job || isAhead(job)
  })
  advance(ms)
  wakeJobs(node)
  await until(`${kind} has run`, async () => {
    const job = await find()
    return isAhead(job) && job?.run_at !== before
  })
}
