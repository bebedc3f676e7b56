import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { sql } from 'kysely'
import type { Storage } from '../src/storage/open-storage.ts'
import { realId, realIdSql } from './real-ids.ts'
import type { StoredServer } from './servers.ts'
import type { Store, Subject } from './subject.ts'

const FEW_ROWS = 1_000
/** What one transaction inserts: SQLite's journal stays small. */
const ROWS_AT_ONCE = 100_000
const AGENT = 'hello'
const DAY_MS = 86_400_000
/** Log entries are kept for 30 days. */
const DAYS = 29
const METRIC_DAYS = 30
const MINUTE_MS = 60_000
const ROWS_PER_SESSION = 20

/** The same reads in a store of a thousand rows and in a long one: what they take should not grow with the rows. */
export function listSubjects(key: string, rows: number): Subject[] {
  const now = Date.now()
  const headers = { Authorization: `Bearer ${key}` }
  const few = storeOf(FEW_ROWS, now)
  const many = storeOf(rows, now)
  const since = (days: number) => new Date(now - days * DAY_MS).toISOString()
  const common = { group: 'lists', connections: 1, brief: true } as const
  const get = (path: string) => ({ method: 'GET', path: `/v1/agents/${AGENT}/${path}`, headers })
  const reads = (stored: number) => ({
    'get invocation': `invocations/${realId(FEW_ROWS / 2, timeOf(FEW_ROWS / 2, stored, now))}`,
    'list invocations': 'invocations',
    'list invocations, one session': 'invocations?session_id=session-7',
    'list invocations, failed ones': 'invocations?status=failed',
    'get logs': 'logs',
    // It looks through at most 10,000 entries, so with 1,000 it has a tenth of the work.
    'search logs': 'logs?search=rudder',
  })
  const ofMany = reads(rows)
  const metrics = {
    'metrics, 30 days': `metrics?metric=response_time&granularity=1d&start_time=${since(METRIC_DAYS)}`,
    'metrics, p95 of each minute of a day': `metrics?metric=response_time&aggregation=p95&granularity=1m&start_time=${since(1)}&end_time=${since(0)}`,
  }
  return (['embedded', 'PostgreSQL'] as const).flatMap((engine) => [
    ...Object.entries(reads(FEW_ROWS)).flatMap(([name, path]): Subject[] => {
      const least = `${name}, ${few.name}`
      const read = { ...common, engine }
      const inMany = get(ofMany[name as keyof typeof ofMany])
      return [
        { ...read, load: get(path), name: least, store: few },
        { ...read, load: inMany, name: `${name}, ${many.name}`, store: many, grownFrom: least },
      ]
    }),
    ...Object.entries(metrics).map(
      ([name, path]): Subject => ({ ...common, engine, name, load: get(path), store: many }),
    ),
  ])
}

function storeOf(rows: number, now: number): Store {
  return { name: `${rows.toLocaleString('en')} rows`, fill: (server) => fillLists(server, rows, now) }
}

/** When row number `i` of a store was written. The database counts in the same way. */
function timeOf(i: number, rows: number, now: number): number {
  return now - DAYS * DAY_MS + Math.floor((i * DAYS * DAY_MS) / rows)
}

/** The database itself writes the rows: a million of them through the API would take an hour. */
async function fillLists({ checkout, data, databaseUrl }: StoredServer, rows: number, now: number): Promise<void> {
  // The code of the server's own checkout: that of this one could change the schema under it.
  const { openStorage }: typeof import('../src/storage/open-storage.ts') = await import(
    join(checkout, 'src/storage/open-storage.ts')
  )
  const storage = await openStorage({ data, database: { url: databaseUrl, poolSize: 1 } })
  const started = performance.now()
  try {
    const { seq } = await storage.db
      .selectFrom('agents')
      .select('seq')
      .where('name', '=', AGENT)
      .executeTakeFirstOrThrow()
    const began = now - DAYS * DAY_MS
    const time = `(${began} + i * ${DAYS * DAY_MS} / ${rows})`
    for (let from = 0; from < rows; from += ROWS_AT_ONCE) {
      const numbers = series(from, Math.min(from + ROWS_AT_ONCE, rows))
      await execute(storage, [insertInvocations(seq, time, numbers), insertLogs(seq, time, numbers)])
    }
    await execute(storage, metricInserts(seq, now))
    if (storage.engine === 'postgres') await sql`vacuum analyze`.execute(storage.db)
    else await countAsBefore(checkout, storage)
    const took = ((performance.now() - started) / 1000).toFixed(1)
    console.log(`${storage.engine}: filled with ${rows.toLocaleString('en')} rows in ${took} s`)
  } finally {
    await storage.close()
  }
}

/** Checkouts from before the triggers of SQLite counted every row have a function for it. */
async function countAsBefore(checkout: string, storage: Storage): Promise<void> {
  const file = join(checkout, 'src/storage/queries/counts.ts')
  if (!existsSync(file)) return
  const { recount }: { recount(db: Storage['db']): Promise<void> } = await import(file)
  await storage.transaction((db) => recount(db))
}

async function execute(storage: Storage, statements: string[]): Promise<void> {
  await storage.transaction(async (db) => {
    for (const statement of statements) await sql.raw(statement).execute(db)
  })
}

/** The numbers from `from` up to `to`, which is left out. */
function series(from: number, to: number): string {
  return `(with recursive counted(i) as (
    select cast(${from} as bigint) union all select i + 1 from counted where i < ${to - 1}
  ) select i from counted) as numbers`
}

function insertInvocations(seq: number, time: string, numbers: string): string {
  return `insert into invocations (id, agent_seq, status, attempt, background, environment, message, context, user_id, session_id,
      response, input_tokens, output_tokens, tokens_used, duration_ms, steps, created_by, created_at, started_at, finished_at)
    select ${realIdSql('i', time)}, ${seq}, case when i % 50 = 7 then 'failed' else 'completed' end,
      1, 0, 'production', 'Will the ferry sail today?', '{}', 'user-' || (i % 1000), 'session-' || (i / ${ROWS_PER_SESSION}),
      'Will the ferry sail today?', 4, 4, 8, i % 900, '[]', 'key_bench', ${time}, ${time}, ${time}
    from ${numbers}`
}

function insertLogs(seq: number, time: string, numbers: string): string {
  return `insert into logs (agent_seq, timestamp, level, request_id, message, metadata)
    select ${seq}, ${time}, case when i % 50 = 7 then 3 else 1 end, ${realIdSql('i', time)},
      case when i % 50 = 7 then 'The rudder does not answer' else 'Invocation completed' end, '{"duration_ms":12}'
    from ${numbers}`
}

/** Every minute has invocations of four different durations. */
function metricInserts(seq: number, now: number): string[] {
  const last = Math.floor(now / MINUTE_MS)
  const minutes = series(last - METRIC_DAYS * 24 * 60, last + 1)
  const hours = 'select agent_seq, 60, start - start % 60'
  const ofMinutes = `where minutes = 1 and agent_seq = ${seq}`
  return [
    `insert into metrics (agent_seq, minutes, start, count, errors, sum_ms, max_ms)
      select ${seq}, 1, i, 24, i % 2, 24 * 55, 100 from ${minutes}`,
    `insert into metrics (agent_seq, minutes, start, count, errors, sum_ms, max_ms)
      ${hours}, sum(count), sum(errors), sum(sum_ms), max(max_ms) from metrics ${ofMinutes} group by agent_seq, start - start % 60`,
    ...[10, 40, 70, 100].map(
      (bucket) => `insert into metric_buckets (agent_seq, minutes, start, bucket, count)
      select ${seq}, 1, i, ${bucket}, 6 from ${minutes}`,
    ),
    `insert into metric_buckets (agent_seq, minutes, start, bucket, count)
      ${hours}, bucket, sum(count) from metric_buckets ${ofMinutes} group by agent_seq, start - start % 60, bucket`,
  ]
}
