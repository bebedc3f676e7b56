import { type SelectQueryBuilder, sql } from 'kysely'
import { firstIdAt } from '../../lib/id.ts'
import type { Database } from '../../storage/database.ts'
import { countParts, type ListParts } from '../../storage/queries/counts.ts'
import { isOneOf } from '../../storage/queries/is-one-of.ts'
import { FAR, orderOf, type Page, type PageQuery, page } from '../../storage/queries/page.ts'
import {
  countAll,
  findStretch,
  fromStretch,
  type ListRange,
  listStretches,
  rowsOf,
  type Stretch,
  within,
} from '../../storage/queries/stretches.ts'
import type { Tables } from '../../storage/tables.ts'

type Select<Row> = SelectQueryBuilder<Tables, 'invocations', Row>
/** Where a page begins. */
type PageStart = { stretch: Stretch; before: number }

type Known = {
  /** How many there are, if that is known. */
  total?: number
  /** Finds the millisecond in which it begins. */
  exactly?(start: PageStart, direction: 'asc' | 'desc'): Promise<PageStart>
}

/**
 * A page in the order of ids, which is the order of time: an id begins with the time at which its invocation was created.
 * Far down the list the counts tell when the page begins.
 */
export async function pageByIds<Row>(
  db: Database,
  select: Select<Row>,
  query: PageQuery,
  wanted: ListParts,
  { exactly, ...known }: Known = {},
): Promise<Page<Row>> {
  const byId = { ...query, sort: query.sort.replace('created_at', 'id') }
  if (query.offset <= FAR) {
    const total = known.total ?? (await countParts(db, wanted))
    // To find nothing, all rows would be looked at.
    if (total === 0) return { items: [], total }
    return page(db, select, byId, { tieBreakers: [], total: Promise.resolve(total) })
  }
  const stretches = await listStretches(db, [select], wanted)
  const total = Promise.resolve(rowsOf(stretches))
  const { direction } = orderOf(query.sort)
  const found = findStretch(stretches, query.offset, direction)
  if (!found) return { items: [], total: await total }
  const { stretch, before } = exactly ? await exactly(found, direction) : found
  const from = withIdsOf(select, fromStretch(stretch, direction))
  return page(db, from, { ...byId, offset: before }, { tieBreakers: [], total })
}

function withIdsOf<Row>(select: Select<Row>, { from, to }: ListRange): Select<Row> {
  let ranged = select
  if (from !== undefined) ranged = ranged.where('id', '>=', firstIdAt('req', from))
  if (to !== undefined) ranged = ranged.where('id', '<', firstIdAt('req', to))
  return ranged
}

/** Finds the millisecond in which a page of the lists of agents begins. It reads the index of their times, and no rows. */
export function exactStart(db: Database, seqs: readonly number[], { list, parts }: ListParts) {
  return async ({ stretch, before }: PageStart, direction: 'asc' | 'desc'): Promise<PageStart> => {
    const times = db
      .selectFrom('invocations')
      .select('created_at')
      .where(isOneOf(db, sql`agent_seq`, seqs))
      .where('status', 'in', parts as string[])
    const row = await within(times, list, stretch)
      .orderBy('created_at', direction)
      .limit(1)
      .offset(before)
      .executeTakeFirst()
    // The row has been removed since it was counted.
    if (!row) return { stretch, before }
    const [from, to] = [row.created_at, row.created_at + 1]
    const passed = direction === 'asc' ? { ...stretch, to: from } : { ...stretch, from: to }
    // Rows may have come since.
    const left = Math.max(0, before - (await countAll([within(times, list, passed)])))
    return { stretch: { from, to, rows: 0 }, before: left }
  }
}
