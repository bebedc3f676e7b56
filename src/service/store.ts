import { sql } from 'kysely'
import type { Database } from '../storage/database.ts'

export type Backlog = { queue: 'runs' | 'deliveries' | 'jobs'; waiting: number; leased: number; oldest: number | null }

/** How much work waits for a node, since when the oldest of it is due, and how much the nodes are doing. */
export async function listBacklogs(db: Database, now: number): Promise<Backlog[]> {
  const { rows } = await sql<Backlog>`
    select * from (
      select 'runs' as queue,
        (select count(*) from invocations where status = 'queued') as waiting,
        (select count(*) from invocations where status = 'running') as leased,
        (select min(created_at) from invocations where status = 'queued') as oldest
      union all
      select 'deliveries' as queue,
        (select count(*) from deliveries where status = 'pending' and next_attempt_at <= ${now}) as waiting,
        (select count(*) from deliveries where status = 'pending' and owner is not null and next_attempt_at > ${now}) as leased,
        (select min(next_attempt_at) from deliveries where status = 'pending' and next_attempt_at <= ${now}) as oldest
      union all
      select 'jobs' as queue,
        (select count(*) from jobs where failed_at is null and run_at <= ${now}) as waiting,
        (select count(*) from jobs where failed_at is null and owner is not null and run_at > ${now}) as leased,
        (select min(run_at) from jobs where failed_at is null and run_at <= ${now}) as oldest
    ) backlogs`.execute(db)
  return rows.map(({ queue, waiting, leased, oldest }) => ({
    queue,
    waiting: Number(waiting),
    leased: Number(leased),
    oldest: oldest === null ? null : Number(oldest),
  }))
}
