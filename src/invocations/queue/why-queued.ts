import { type RawBuilder, type SqlBool, sql } from 'kysely'
import { z } from 'zod'
import type { Database } from '../../storage/database.ts'
import { isGoingOn } from '../../storage/queries/paused-projects.ts'
import { listPositions } from '../turns/turn-store.ts'
import { isProjectFull, limitOfRuns } from './queue-store.ts'

export const QueueShape = z
  .object({
    reason: z
      .enum(['session', 'pause', 'limit', 'order'])
      .describe(
        "`session`: another run of its session comes first. `pause`: its project or the service is paused. `limit`: the agent's or the project's limit of concurrent runs is reached. `order`: other runs of the agent start first",
      ),
    position: z.int().min(1).describe('1: it starts next'),
    message: z.string().describe('Both as a sentence'),
  })
  .meta({ id: 'InvocationQueue' })

export type QueuePlace = z.output<typeof QueueShape>

const WHY: Record<QueuePlace['reason'], string> = {
  session: 'Waiting for another run of this session to end',
  pause: 'Waiting until the pause of its project or of the service ends',
  limit: 'Waiting because the limit of concurrent runs is reached',
  order: 'Waiting for a free place',
}

/** Why a queued run has not begun. Undefined if it has begun in the meantime. */
export async function whyQueued(
  db: Database,
  { id, agent_seq }: { id: string; agent_seq: number },
  now: number,
): Promise<QueuePlace | undefined> {
  const inLine = (await listPositions(db, [id])).get(id)
  const position = inLine ?? (await findPosition(db, id))
  if (position === undefined) return undefined
  const reason = inLine === undefined ? await findReason(db, { id, agent_seq }, now) : 'session'
  return { reason, position, message: `${WHY[reason]} (position ${position}).` }
}

/** The run's position among the queued runs of its agent. */
async function findPosition(db: Database, id: string): Promise<number | undefined> {
  const { rows } = await sql<{ position: number }>`
    select 1 + (select count(*) from runs ahead
      where ahead.agent_seq = runs.agent_seq and ahead.status = 'queued' and ahead.place is null
        and (ahead.rank < runs.rank or (ahead.rank = runs.rank and ahead.id < runs.id))) as position
    from runs where id = ${id} and status = 'queued'`.execute(db)
  return rows[0] && Number(rows[0].position)
}

async function findReason(
  db: Database,
  run: { id: string; agent_seq: number },
  now: number,
): Promise<Exclude<QueuePlace['reason'], 'session'>> {
  const { rows } = await sql<{ goes_on: SqlBool; is_full: SqlBool | null }>`
    select ${isGoingOn} as goes_on, ${isAgentFull(db, now)} as is_full
    from runs join agents on agents.seq = runs.agent_seq
    left join versions on versions.agent_id = agents.id and versions.version = runs.version
    where runs.id = ${run.id}`.execute(db)
  if (rows[0] && !rows[0].goes_on) return 'pause'
  return rows[0]?.is_full || (await isProjectFull(db, run.agent_seq, now)) ? 'limit' : 'order'
}

/** Counts without a lock, because the result is only shown to clients. */
function isAgentFull(db: Database, now: number): RawBuilder<SqlBool> {
  return sql<SqlBool>`${limitOfRuns(db)} <= (select count(*) from runs active
    where active.agent_seq = runs.agent_seq and active.status = 'running' and active.lease_until > ${now})`
}
