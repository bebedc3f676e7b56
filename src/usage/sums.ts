import { type RawBuilder, type SqlBool, sql } from 'kysely'
import { firstIdAt } from '../lib/id.ts'
import { type Database, engineOf } from '../storage/database.ts'
import { isShown, type ShownAgents } from '../storage/queries/shown-agents.ts'
import type { Tables } from '../storage/tables.ts'
import { HOUR_MS, type Period } from './periods.ts'
import { SUM_HOURS } from './store.ts'

export type UsageSums = Pick<
  Tables['usage_sums'],
  | 'calls'
  | 'input_tokens'
  | 'cached_tokens'
  | 'cache_write_tokens'
  | 'output_tokens'
  | 'reasoning_tokens'
  | 'cost_nano'
  | 'unpriced'
  | 'lost'
>

type UsageColumn =
  | 'project_id'
  | 'agent_id'
  | 'version'
  | 'environment'
  | 'key_id'
  | 'person_id'
  | 'user_id'
  | 'door'
  | 'model'
  | 'purpose'

type UsageSelection = {
  periods: readonly Period[]
  groups: readonly UsageColumn[]
  /** The values that columns must have. */
  filter: Readonly<Record<string, string>>
  /** Undefined: every project. */
  shown: ShownAgents | undefined
}

type UsageRow = UsageSums & { start: number } & Partial<Record<UsageColumn, string | null>>

/** A reply contains at most this number of rows. */
export const MOST_ROWS = 5_000

/** Columns that only the lines have. The sums of hours and days have all others. */
const OF_LINES = new Set(['user_id', 'request_id'])

/**
 * The sums of each period and group, in their order. If there are more rows than a reply can have, one extra row is
 * returned. Each period is a range of an index.
 */
export async function listUsage(db: Database, wanted: UsageSelection): Promise<UsageRow[]> {
  const { periods, groups, filter, shown } = wanted
  const areWhole = (hours: number) =>
    periods.every(({ start, end }) => start % (hours * HOUR_MS) === 0 && end % (hours * HOUR_MS) === 0)
  const hours = [SUM_HOURS.day, SUM_HOURS.hour].find(areWhole)
  const needsLines = [...groups, ...Object.keys(filter)].some((name) => OF_LINES.has(name))
  const from = needsLines || hours === undefined ? LINES : sumsOf(hours)
  const bounds = periods.map(({ start, end }) => [start, from.bound(start), from.bound(end)])
  const conditions = [
    ...(shown ? [sql<SqlBool>`project_id = ${shown.project_id}`, sql`${isShown(db, sql.ref('agent_id'), shown)}`] : []),
    ...Object.entries(filter).map(([name, value]) => sql<SqlBool>`${sql.ref(name)} = ${value}`),
    from.condition,
  ]
  const columns = groups.map((name) => sql.ref(name))
  const keys = [sql`periods.start`, ...columns]
  // What is absent comes last, as in every list. Sums have an empty text for it.
  const order = [sql`periods.start`, ...columns.map((column) => sql`nullif(${column}, '') nulls last`)]
  const { rows } = await sql<UsageRow>`
    with periods as materialized (${periodsIn(db, bounds, from.type)})
    select ${sql.join([...keys, ...from.sums])}
    from periods join ${from.table} on ${from.column} >= lower_bound and ${from.column} < upper_bound
    where ${sql.join(conditions, sql` and `)}
    group by ${sql.join(keys)} order by ${sql.join(order)} limit ${sql.lit(MOST_ROWS + 1)}`.execute(db)
  return rows
}

const TOKENS = ['input_tokens', 'cached_tokens', 'cache_write_tokens', 'output_tokens', 'reasoning_tokens']

const sumsOf = (hours: number) => ({
  table: sql`usage_sums`,
  column: sql`usage_sums.start`,
  type: 'bigint',
  bound: (time: number): number | string => time / HOUR_MS,
  condition: sql<SqlBool>`hours in (${sql.lit(SUM_HOURS.recent)}, ${sql.lit(hours)})`,
  sums: ['calls', ...TOKENS, 'cost_nano', 'unpriced', 'lost'].map((name) => sql`${sumOf(name)} as ${sql.ref(name)}`),
})

/** No sum is too large for the engine, or to be read. Those that a number can hold are exact. */
const sumOf = (name: string) => sql`sum(${sql.ref(name)} * 1.0)`

/** Ids begin with the time. */
const LINES: ReturnType<typeof sumsOf> = {
  table: sql`ledger`,
  column: sql`id`,
  type: 'text',
  bound: (time) => firstIdAt('led', time),
  condition: sql<SqlBool>`status <> 'reserved'`,
  sums: [
    sql`count(*) as calls`,
    ...TOKENS.map((name) => sql`${sumOf(name)} as ${sql.ref(name)}`),
    sql`coalesce(${sumOf('cost_nano')}, 0) as cost_nano`,
    sql`count(*) - count(cost_nano) as unpriced`,
    sql`sum(case when status = 'lost' then 1 else 0 end) as lost`,
  ],
}

/** The periods as rows. They are one parameter, because both engines limit the number of parameters. */
function periodsIn(db: Database, bounds: readonly (readonly (string | number)[])[], type: string): RawBuilder<unknown> {
  const json = JSON.stringify(bounds)
  if (engineOf(db) === 'sqlite') {
    return sql`select value ->> 0 as start, value ->> 1 as lower_bound, value ->> 2 as upper_bound from json_each(${json})`
  }
  const bound = (position: number) => sql.raw(`(value ->> ${position})::${type}`)
  return sql`select (value ->> 0)::bigint as start, ${bound(1)} as lower_bound, ${bound(2)} as upper_bound
    from jsonb_array_elements(${json}::jsonb)`
}
