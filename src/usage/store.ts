import { type SqlBool, sql } from 'kysely'
import { firstIdAt } from '../lib/id.ts'
import type { Database } from '../storage/database.ts'
import { bulkTable } from '../storage/journal/bulk-table.ts'
import type { EndedTable, LeaseEnd, Write } from '../storage/journal/rows.ts'
import { writeRows } from '../storage/journal/write-rows.ts'
import type { LeasedTable } from '../storage/leases/lease.ts'
import { removeRows, takeRows } from '../storage/queries/remove-rows.ts'
import { isShown, type ShownAgents } from '../storage/queries/shown-agents.ts'
import type { LedgerLine } from './ledger-line.ts'
import { HOUR_MS } from './periods.ts'
import type { EndedLine } from './reservation.ts'

const USED = ['input_tokens', 'cached_tokens', 'cache_write_tokens', 'output_tokens', 'reasoning_tokens'] as const

export const LEDGER = bulkTable('ledger')

const SUMMED = ['calls', ...USED, 'cost_nano', 'unpriced', 'lost']

const SUMS = bulkTable('usage_sums', { merge: { add: SUMMED } })

/**
 * Each line is in the sums of its hour, and of its day in UTC, so a month is read from few rows. A line adds to a
 * recent sum of its hour, which `rollUp` moves into both; until then every reader adds the recent sums.
 */
export const SUM_HOURS = { recent: 0, hour: 1, day: 24 }

/** The call of a reserved line is leased to the node that makes it. */
export const LEASED_LINES: LeasedTable = {
  table: 'ledger',
  key: ['id'],
  until: 'lease_until',
  condition: "status = 'reserved'",
}

/** What a reserved line gets when its call has ended. It no longer reserves anything. */
const ENDED_LINES: EndedTable = {
  ...LEASED_LINES,
  columns: ['status', ...USED, 'cost_nano', 'price', 'charges', 'owner', 'lease_until'],
}

/** The same without the lease. The user isn't written again, because they might have been erased in the meantime. */
export function endedValues(line: LedgerLine) {
  const { status, cost_nano, price } = line
  return { status, ...usedBy(line), cost_nano, price, charges: null, owner: null, lease_until: null }
}

function usedBy(line: LedgerLine): Pick<LedgerLine, (typeof USED)[number]> {
  const { input_tokens, cached_tokens, cache_write_tokens, output_tokens, reasoning_tokens } = line
  return { input_tokens, cached_tokens, cache_write_tokens, output_tokens, reasoning_tokens }
}

/** What an ended line adds to the sums and to the counters of budgets, and itself unless it was reserved. */
export function lineWrites({ line, held }: EndedLine): Write[] {
  const sums = [...sumWrites(line), ...(held?.settled(line) ?? [])]
  return held?.owner === undefined ? [{ into: LEDGER, row: line }, ...sums] : sums
}

/** The end of a reserved line. */
export function lineEnding(line: LedgerLine, owner: string): LeaseEnd {
  return { of: ENDED_LINES, lease: { key: [line.id], owner }, row: line }
}

/** What a line that has ended adds to the sums. */
export function sumWrites(line: LedgerLine): Write[] {
  const { cost_nano } = line
  const priced = { cost_nano: cost_nano ?? 0, unpriced: cost_nano === null ? 1 : 0 }
  return addedToSums(line, { calls: 1, ...usedBy(line), ...priced, lost: line.status === 'lost' ? 1 : 0 })
}

/** Subtracts the line from the sums. */
export function unsumWrites(line: LedgerLine): Write[] {
  return sumWrites(line).map(({ into, row }) => {
    const negative = SUMMED.map((name) => [name, -Number(row[name])])
    return { into, row: { ...row, ...Object.fromEntries(negative) } }
  })
}

const NOTHING = Object.fromEntries(SUMMED.map((name) => [name, 0]))

/** Adds to the sums of the hour in which the call of the line began. */
function addedToSums(line: LedgerLine, sums: Record<string, number>): Write[] {
  const { agent_id, version, environment, key_id, person_id, door } = line
  const key = {
    project_id: line.project_id,
    agent_id: agent_id ?? '',
    version: version ?? '',
    environment: environment ?? '',
    key_id: key_id ?? '',
    person_id: person_id ?? '',
    door: door ?? '',
    model: line.model,
    purpose: line.purpose,
  }
  const start = Math.floor(line.created_at / HOUR_MS)
  return [{ into: SUMS, row: { ...key, hours: SUM_HOURS.recent, start, ...NOTHING, ...sums } }]
}

/**
 * Moves at most `limit` recent sums of hours that have ended into those of hours and days; returns how many. A row is
 * removed in the transaction that adds it, so it counts once, whenever the process dies.
 */
export async function rollUp(db: Database, before: number, limit: number): Promise<number> {
  const which = sql<SqlBool>`hours = ${sql.lit(SUM_HOURS.recent)} and start < ${Math.floor(before / HOUR_MS)}`
  const rows = await takeRows(db, 'usage_sums', { which, limit })
  const sums = rows.flatMap((row) =>
    [SUM_HOURS.hour, SUM_HOURS.day].map((hours) => {
      const start = row.start - (row.start % hours)
      return { into: SUMS, row: { ...row, hours, start } }
    }),
  )
  await writeRows(db, sums)
  return rows.length
}

/** The models that were called since then, each once. */
export async function listModelsSince(db: Database, shown: ShownAgents, since: number): Promise<string[]> {
  const rows = await db
    .selectFrom('usage_sums')
    .select('model')
    .distinct()
    .where('project_id', '=', shown.project_id)
    .where('hours', 'in', [SUM_HOURS.recent, SUM_HOURS.day])
    .where('start', '>', Math.floor(since / HOUR_MS) - SUM_HOURS.day)
    .where(isShown(db, sql.ref('agent_id'), shown))
    .execute()
  return rows.map(({ model }) => model)
}

/** Removes what is older, at most `limit` rows of each table. Returns how many. */
export async function remove(db: Database, before: number, limit: number): Promise<number> {
  const isOld = sql<SqlBool>`id < ${firstIdAt('led', before)} and status <> 'reserved'`
  let removed = await removeRows(db, 'ledger', { which: isOld, limit })
  for (const hours of Object.values(SUM_HOURS)) {
    // A recent sum is a part of its day's as well.
    const spanned = hours || SUM_HOURS.day
    const isOver = sql<SqlBool>`hours = ${sql.lit(hours)} and start <= ${Math.floor(before / HOUR_MS) - spanned}`
    removed += await removeRows(db, 'usage_sums', { which: isOver, limit })
  }
  return removed
}

/** Moves lines and their sums from one project to another. It needs a transaction. */
export async function move(db: Database, from: string, to: string): Promise<void> {
  await db.updateTable('ledger').set({ project_id: to }).where('project_id', '=', from).execute()
  for (;;) {
    const rows = await takeRows(db, 'usage_sums', { which: sql<SqlBool>`project_id = ${from}`, limit: MOVED_AT_ONCE })
    await writeRows(
      db,
      rows.map((row) => ({ into: SUMS, row: { ...row, project_id: to } })),
    )
    if (rows.length < MOVED_AT_ONCE) return
  }
}

const MOVED_AT_ONCE = 500

/** Removes at most `limit` lines, and as many sums, of a project. Returns how many. */
export async function removeOfProject(db: Database, project_id: string, limit: number): Promise<number> {
  const which = sql<SqlBool>`project_id = ${project_id}`
  return (await removeRows(db, 'ledger', { which, limit })) + (await removeRows(db, 'usage_sums', { which, limit }))
}

/** Removes the user from at most `limit` lines. Returns how many. */
export async function forgetUser(
  db: Database,
  { reach, user_id }: { reach: ShownAgents; user_id: string },
  limit: number,
): Promise<number> {
  const { numAffectedRows } = await sql`update ledger set user_id = null where id in (
    select id from ledger where user_id = ${user_id} and project_id = ${reach.project_id}
      and ${isShown(db, sql.ref('agent_id'), reach)} limit ${limit})`.execute(db)
  return Number(numAffectedRows)
}

type LinesQuery = { project_id: string | undefined; from: number; to: number; after: string | undefined }

/** The lines of calls that have ended, in the order of time. */
export async function listLines(
  db: Database,
  { project_id, from, to, after }: LinesQuery,
  limit: number,
): Promise<LedgerLine[]> {
  const rows = await db
    .selectFrom('ledger')
    .selectAll()
    .where('id', '>=', firstIdAt('led', from))
    .where('id', '<', firstIdAt('led', to))
    .where('status', '<>', 'reserved')
    .$if(after !== undefined, (all) => all.where('id', '>', after ?? ''))
    .$if(project_id !== undefined, (all) => all.where('project_id', '=', project_id ?? ''))
    .orderBy('id')
    .limit(limit)
    .execute()
  return rows as LedgerLine[]
}

/** A line, and its cost at other prices. */
export type MendedLine = { line: LedgerLine; cost_nano: number; price: string }

/** Changes lines and their sums. Returns those that nothing else has changed meanwhile. */
export async function updateCosts(db: Database, mended: readonly MendedLine[]): Promise<MendedLine[]> {
  const changed: MendedLine[] = []
  const writes: Write[] = []
  for (const one of mended) {
    const { line, cost_nano, price } = one
    const { numUpdatedRows } = await db
      .updateTable('ledger')
      .set({ cost_nano, price })
      .where('id', '=', line.id)
      .where('cost_nano', 'is not distinct from', line.cost_nano)
      .executeTakeFirst()
    if (numUpdatedRows === 0n) continue
    changed.push(one)
    const more = { cost_nano: cost_nano - (line.cost_nano ?? 0), unpriced: line.cost_nano === null ? -1 : 0 }
    writes.push(...addedToSums(line, more))
  }
  await writeRows(db, writes)
  return changed
}

/**
 * The cost of runs' calls, by the run and the step's position. Lost calls and calls in progress are left out, as in
 * receipts.
 */
export async function listCostsOf(
  db: Database,
  request_ids: readonly string[],
): Promise<{ request_id: string; step: number; cost_nano: number | null }[]> {
  if (request_ids.length === 0) return []
  const rows = await db
    .selectFrom('ledger')
    .select(['request_id', 'step', 'cost_nano'])
    .where('request_id', 'in', request_ids)
    .where('purpose', '=', 'run')
    .where('status', 'not in', ['lost', 'reserved'])
    .execute()
  return rows.map(({ request_id, step, cost_nano }) => ({ request_id: request_id ?? '', step: step ?? 0, cost_nano }))
}
