import { sql } from 'kysely'
import { type Database, engineOf } from '../storage/database.ts'
import {
  AUDIT_OF_ALL,
  DELIVERIES_OF_WEBHOOK,
  INVOCATIONS_OF_AGENT,
  LOGS_OF_AGENT,
  QUARTER_MS,
} from '../storage/queries/counted-lists.ts'
import type { Tables } from '../storage/tables.ts'

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

export async function countDisabledWebhooks(db: Database): Promise<number> {
  const { total } = await db
    .selectFrom('webhooks')
    .select(({ fn }) => fn.countAll<number>().as('total'))
    .where('disabled_reason', 'is not', null)
    .executeTakeFirstOrThrow()
  return Number(total)
}

/** The size of the database, with what is free inside of it. */
export async function measureBytes(db: Database): Promise<number> {
  const size =
    engineOf(db) === 'postgres'
      ? sql<{ bytes: number }>`select pg_database_size(current_database()) as bytes`
      : sql<{ bytes: number }>`select page_count * page_size as bytes from pragma_page_count(), pragma_page_size()`
  const { rows } = await size.execute(db)
  return Number(rows[0]?.bytes ?? 0)
}

/** Lists that may grow long are counted as they grow. */
const COUNTED = {
  invocations: INVOCATIONS_OF_AGENT.name,
  logs: LOGS_OF_AGENT.name,
  deliveries: DELIVERIES_OF_WEBHOOK.name,
  audit_log: AUDIT_OF_ALL.name,
}
/** What people make by hand is counted when somebody asks. */
const SHORT = [
  'agents',
  'versions',
  'deployments',
  'webhooks',
  'keys',
  'secrets',
  'providers',
] as const satisfies (keyof Tables)[]

/** How many rows each kind of data has. It costs the same however many they are. */
export async function countRows(db: Database): Promise<Record<string, number>> {
  const counts = await db
    .selectFrom('list_counts')
    .select(({ fn }) => ['list', fn.sum<number>('count').as('total')])
    .where('list', 'in', Object.values(COUNTED))
    .groupBy('list')
    .execute()
  const totals = new Map(counts.map(({ list, total }) => [list, Number(total)]))
  const memories = await db
    .selectFrom('memory_scopes')
    .select(({ fn }) => [fn.sum<number | null>('turns').as('turns'), fn.sum<number | null>('notes').as('notes')])
    .where('level', '=', 0)
    // By agent, because the primary key begins with it.
    .where('agent_seq', 'in', db.selectFrom('agents').select('seq'))
    .executeTakeFirst()
  const short = await Promise.all(
    SHORT.map(async (table) => {
      const { rows } = await sql<{ total: number }>`select count(*) as total from ${sql.table(table)}`.execute(db)
      return [table, Number(rows[0]?.total ?? 0)] as const
    }),
  )
  return {
    ...Object.fromEntries(Object.entries(COUNTED).map(([name, list]) => [name, totals.get(list) ?? 0])),
    memories: Number(memories?.turns ?? 0) + Number(memories?.notes ?? 0),
    ...Object.fromEntries(short),
  }
}

const DAYS = 30
const DAY_MS = 86_400_000

export type DayOfRows = { day: string; invocations: number; logs: number; audit_log: number }

/** The rows that are kept of each of the last days. */
export async function listDays(db: Database, now: number): Promise<DayOfRows[]> {
  const today = Math.floor(now / DAY_MS)
  const first = today - DAYS + 1
  const quarters = DAY_MS / QUARTER_MS
  const rows = await db
    .selectFrom('list_counts')
    .select(({ fn }) => ['list', 'quarter', fn.sum<number>('count').as('total')])
    .where('list', 'in', [COUNTED.invocations, COUNTED.logs, COUNTED.audit_log])
    .where('quarter', '>=', first * quarters)
    .groupBy(['list', 'quarter'])
    .execute()
  const sumOf = (list: string, day: number) =>
    rows
      .filter((row) => row.list === list && Math.floor(row.quarter / quarters) === day)
      .reduce((sum, { total }) => sum + Number(total), 0)
  return Array.from({ length: DAYS }, (_, index) => ({
    day: new Date((first + index) * DAY_MS).toISOString().slice(0, 10),
    invocations: sumOf(COUNTED.invocations, first + index),
    logs: sumOf(COUNTED.logs, first + index),
    audit_log: sumOf(COUNTED.audit_log, first + index),
  }))
}
