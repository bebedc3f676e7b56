import { sql } from 'kysely'
import { wellFormedJson } from '../../lib/json.ts'
import { type Database, engineOf } from '../../storage/database.ts'
import { bulkTable } from '../../storage/journal/bulk-table.ts'
import type { Write } from '../../storage/journal/rows.ts'
import { insertMany } from '../../storage/journal/write-rows.ts'
import type { Tables } from '../../storage/tables.ts'

/** What was spent of a budget in one period, and the thresholds that events have already reported. */
export type BudgetCounter = Tables['budget_counters']

/** Names a counter. `subject` is the key or the user if each has its own limit, otherwise empty. */
export type CounterKey = Pick<BudgetCounter, 'budget_id' | 'subject' | 'period_start'>

export const COUNTERS = bulkTable('budget_counters', {
  merge: { add: ['used', 'reserved'], max: ['told', 'exceeded', 'kept'] },
})

const NOTHING = { used: 0, reserved: 0, told: 0, exceeded: 0, kept: 0 }

/** Adds to a counter. */
export function counterWrite(
  { budget_id, subject, period_start }: CounterKey,
  change: Partial<Omit<BudgetCounter, keyof CounterKey>>,
): Write {
  return { into: COUNTERS, row: { budget_id, subject, period_start, ...NOTHING, ...change } }
}

export function counterName({ budget_id, subject, period_start }: CounterKey): string {
  return `${budget_id} ${period_start} ${subject}`
}

/** Reads the counters and locks them until the transaction ends, always in the same order. Creates missing ones. */
export async function lockCounters(db: Database, keys: readonly CounterKey[]): Promise<Map<string, BudgetCounter>> {
  if (keys.length === 0) return new Map()
  const isLocked = engineOf(db) === 'postgres'
  const found = await findCounters(db, keys, isLocked)
  const missing = keys.filter((key) => !found.has(counterName(key)))
  if (missing.length === 0) return found
  await insertMany(
    db,
    COUNTERS,
    missing.map((key) => counterWrite(key, { kept: 1 }).row),
  )
  return findCounters(db, keys, isLocked)
}

/** The counters that exist. */
export async function findCounters(
  db: Database,
  keys: readonly CounterKey[],
  isLocked = false,
): Promise<Map<string, BudgetCounter>> {
  // The keys are passed as one parameter, because both engines limit the number of parameters.
  const list = wellFormedJson(keys.map(({ budget_id, subject, period_start }) => [budget_id, subject, period_start]))
  const wanted =
    engineOf(db) === 'postgres'
      ? sql`select value ->> 0, value ->> 1, (value ->> 2)::bigint from jsonb_array_elements(${list}::jsonb)`
      : sql`select value ->> 0, value ->> 1, value ->> 2 from json_each(${list})`
  const { rows } = await sql<BudgetCounter>`
    select * from budget_counters where (budget_id, subject, period_start) in (${wanted})
    order by budget_id, subject, period_start ${isLocked ? sql`for update` : sql``}`.execute(db)
  return new Map(rows.map((row) => [counterName(row), row]))
}

/**
 * Counters since that time with a threshold that no event has reported. Others aren't read, so they can't delay these.
 */
export async function listUntold(db: Database, since: number, limit: number): Promise<BudgetCounter[]> {
  const isReached = sql<boolean>`threshold.percent > c.told and c.used * 100 >= b.amount * threshold.percent`
  return db
    .selectFrom('budget_counters as c')
    .innerJoin('budgets as b', 'b.id', 'c.budget_id')
    .selectAll('c')
    .where((one) => one.or([one('c.period_start', '>=', since), one('c.period_start', '=', 0)]))
    .where(
      sql<boolean>`(exists (select 1 from ${thresholdsIn(db)} where ${isReached})
        or (c.exceeded = 0 and b.action = 'notify' and c.used > b.amount))`,
    )
    .orderBy('c.budget_id')
    .orderBy('c.subject')
    .orderBy('c.period_start')
    .limit(limit)
    .execute()
}

/** The thresholds of the budget `b` as rows. A damaged row has none. */
function thresholdsIn(db: Database) {
  if (engineOf(db) === 'sqlite') {
    const list = sql`case when json_valid(b.thresholds) then b.thresholds else '[]' end`
    return sql`(select value as percent from json_each(${list})) as threshold`
  }
  const list = sql`case when b.thresholds ~ '^\\[[0-9, ]*\\]$' then b.thresholds else '[]' end`
  return sql`(select value::int as percent from jsonb_array_elements_text((${list})::jsonb)) as threshold`
}

/** Past events were about another limit, so events report its thresholds again. */
export async function forgetTold(db: Database, budget_id: string): Promise<void> {
  await db.updateTable('budget_counters').set({ told: 0, exceeded: 0 }).where('budget_id', '=', budget_id).execute()
}

/** Removes counters of deleted budgets, of periods that ended long ago, and of erased users. */
export async function removeOld(db: Database, before: number, limit: number): Promise<number> {
  const { numAffectedRows = 0n } = await sql`
    delete from budget_counters where (budget_id, subject, period_start) in (
      select budget_id, subject, period_start from budget_counters c
      where (c.period_start > 0 and c.period_start < ${before})
        or (c.kept = 0 and c.reserved <= 0)
        or not exists (select 1 from budgets b where b.id = c.budget_id)
      limit ${limit})`.execute(db)
  return Number(numAffectedRows)
}
