import { type SqlBool, sql } from 'kysely'
import { firstIdAt } from '../lib/id.ts'
import type { StoreSizes } from '../operation/parts.ts'
import { type Database, engineOf } from '../storage/database.ts'
import { countAll } from '../storage/queries/count-rows.ts'
import { findSetting, touch } from '../storage/stored-settings.ts'
import type { Tables } from '../storage/tables.ts'

export type Backlog = { queue: 'runs' | 'deliveries' | 'jobs'; waiting: number; leased: number; oldest: number | null }

/** How much work waits for a node, how long the oldest work has been due, and how busy the nodes are. */
export async function listBacklogs(db: Database, now: number): Promise<Backlog[]> {
  const { rows } = await sql<Backlog>`
    select * from (
      select 'runs' as queue,
        (select count(*) from runs where status = 'queued') as waiting,
        (select count(*) from runs where status = 'running') as leased,
        (select min(created_at) from runs where status = 'queued') as oldest
      union all
      select 'deliveries' as queue,
        (select count(*) from deliveries where status = 'pending' and next_attempt_at <= ${now}) as waiting,
        (select count(*) from deliveries where status = 'pending' and owner is not null and next_attempt_at > ${now}) as leased,
        (select min(next_attempt_at) from deliveries where status = 'pending' and next_attempt_at <= ${now}) as oldest
      union all
      select 'jobs' as queue,
        (select count(*) from jobs where run_at <= ${now}) as waiting,
        (select count(*) from jobs where owner is not null and run_at > ${now}) as leased,
        (select min(run_at) from jobs where run_at <= ${now}) as oldest
    ) backlogs`.execute(db)
  return rows.map(({ queue, waiting, leased, oldest }) => ({
    queue,
    waiting: Number(waiting),
    leased: Number(leased),
    oldest: oldest === null ? null : Number(oldest),
  }))
}

/** Webhooks that the service has disabled. A webhook that its owner has disabled isn't a problem. */
export async function countDisabledWebhooks(db: Database): Promise<number> {
  return countAll(db.selectFrom('webhooks').where('disabled_reason', 'in', ['gone', 'failing']))
}

/** The size of the database, and the free space inside it. */
async function measureBytes(db: Database): Promise<number> {
  const size =
    engineOf(db) === 'postgres'
      ? sql<{ bytes: number }>`select pg_database_size(current_database()) as bytes`
      : sql<{ bytes: number }>`select page_count * page_size as bytes from pragma_page_count(), pragma_page_size()`
  const { rows } = await size.execute(db)
  return Number(rows[0]?.bytes ?? 0)
}

/** The tables whose rows are counted when an operator asks. */
const COUNTED = [
  'deliveries',
  'audit_log',
  'agents',
  'versions',
  'deployments',
  'webhooks',
  'keys',
  'secrets',
] as const satisfies (keyof Tables)[]

/** How many rows each kind of data has. */
async function countRows(db: Database, signal: AbortSignal | undefined): Promise<Record<string, number>> {
  const ofAgents = await db
    .selectFrom('agent_counts')
    .select(({ fn }) => ['counted', fn.sum<number>('rows').as('rows')])
    .groupBy('counted')
    .execute()
  const memories = await db
    .selectFrom('memory_scopes')
    .select(({ fn }) => [fn.sum<number | null>('turns').as('turns'), fn.sum<number | null>('notes').as('notes')])
    .where('level', '=', 0)
    // Grouped by agent, because the primary key begins with the agent.
    .where('agent_seq', 'in', db.selectFrom('agents').select('seq'))
    .executeTakeFirst()
  const counts: Record<string, number> = {}
  for (const table of COUNTED) {
    signal?.throwIfAborted()
    counts[table] = await countAll(db.selectFrom(table))
  }
  const counted = new Map(ofAgents.map((row) => [row.counted, Number(row.rows)]))
  return {
    invocations: (counted.get('invocations') ?? 0) + (await countAll(db.selectFrom('runs'))),
    logs: counted.get('logs') ?? 0,
    memories: Number(memories?.turns ?? 0) + Number(memories?.notes ?? 0),
    ...counts,
  }
}

const DAYS = 30
const DAY_MS = 86_400_000

/**
 * How many rows from each of the last days are kept. Indexes have them by agent and time, or by an ID that begins with
 * the time.
 */
async function listDays(db: Database, now: number, signal: AbortSignal | undefined): Promise<StoreSizes['days']> {
  const today = Math.floor(now / DAY_MS)
  const agents = db.selectFrom('agents').select('seq')
  const days: StoreSizes['days'] = []
  // One day after the other, so that other reads don't wait for all of them.
  for (let start = (today - DAYS + 1) * DAY_MS; start <= today * DAY_MS; start += DAY_MS) {
    signal?.throwIfAborted()
    const end = start + DAY_MS
    const ofDay = (prefix: 'req' | 'aud') =>
      sql<SqlBool>`id >= ${firstIdAt(prefix, start)} and id < ${firstIdAt(prefix, end)}`
    const isOfAgents = sql<SqlBool>`agent_seq in ${agents}`
    const isInTime = sql<SqlBool>`timestamp >= ${start} and timestamp < ${end}`
    days.push({
      day: new Date(start).toISOString().slice(0, 10),
      invocations: await countAll(db.selectFrom('all_invocations').where(isOfAgents).where(ofDay('req'))),
      logs: await countAll(db.selectFrom('logs').where(isOfAgents).where(isInTime)),
      audit_log: await countAll(db.selectFrom('audit_log').where(ofDay('aud'))),
    })
  }
  return days
}

/** It takes longer the more rows there are. */
export async function measureStore(db: Database, now: number, signal?: AbortSignal): Promise<StoreSizes> {
  const [bytes, rows] = [await measureBytes(db), await countRows(db, signal)]
  return { measured_at: now, bytes, rows, days: await listDays(db, now, signal) }
}

/** In a small store no table has more rows, and counting all of them takes a few milliseconds. */
const FEW_ROWS = 20_000
/** The days of each agent are counted one by one. */
const FEW_AGENTS = 300

/** Reads at most as many rows as a small store has, even in a large one. */
export async function isSmallStore(db: Database): Promise<boolean> {
  const hasMore = (table: string, few: number) =>
    sql`exists (select 1 from ${sql.table(table)} limit 1 offset ${sql.lit(few)})`
  const isLarge = sql.join(
    [
      hasMore('agents', FEW_AGENTS),
      sql`coalesce((select sum(rows) from (select rows from agent_counts limit ${sql.lit(3 * FEW_AGENTS)}) counted), 0) > ${sql.lit(FEW_ROWS)}`,
      ...COUNTED.map((table) => hasMore(table, FEW_ROWS)),
    ],
    sql` or `,
  )
  const { rows } = await sql<{ is_large: unknown }>`select case when ${isLarge} then 1 else 0 end as is_large`.execute(
    db,
  )
  return Number(rows[0]?.is_large) === 0
}

/** The name of the setting that has the sizes of a store as they were measured last. */
const SIZES = 'store_sizes'

export async function keepSizes(db: Database, sizes: StoreSizes): Promise<void> {
  await touch(db, SIZES, JSON.stringify(sizes))
}

export async function findKeptSizes(db: Database): Promise<StoreSizes | undefined> {
  const kept = await findSetting(db, SIZES)
  return kept === undefined ? undefined : JSON.parse(kept)
}
