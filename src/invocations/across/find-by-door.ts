import { type SqlBool, sql } from 'kysely'
import type { Door } from '../../operation/door.ts'
import type { Database } from '../../storage/database.ts'
import { INVOCATIONS_OF_AGENT } from '../../storage/queries/counted-lists.ts'
import { countOwners } from '../../storage/queries/counts.ts'
import { isOneOf } from '../../storage/queries/is-one-of.ts'
import { MAX_SORTED, orderOf, type Page, type PageQuery, page, TooLongToSortError } from '../../storage/queries/page.ts'
import { RECEIPT_KEY, type ReceiptKey } from '../rows/receipt-rows.ts'

export type DoorFilter = { door: Door; status: string | undefined }

/**
 * Ids of invocations of some agents that came through one door. Most come through the API. Those of the other doors have
 * an index, in whose words its condition is written here.
 */
export async function findByDoor(
  db: Database,
  seqs: readonly number[],
  query: PageQuery,
  { door, status }: DoorFilter,
): Promise<Page<ReceiptKey>> {
  let select = selectOther(db, seqs)
    .select(RECEIPT_KEY)
    .where(sql<SqlBool>`door = ${sql.lit(door)}`)
  if (status !== undefined) select = select.where('status', '=', status)
  const { column } = orderOf(query.sort)
  if (column === 'created_at') {
    return page(db, select, { ...query, sort: query.sort.replace(column, 'id') }, { tieBreakers: [] })
  }
  const { total } = await page(db, select, { limit: 1, offset: 0, sort: 'id' }, { tieBreakers: [] })
  if (total > MAX_SORTED) throw new TooLongToSortError(column, 'created_at')
  return page(db, select, query, { total: Promise.resolve(total) })
}

/** How many came through the API: all that are counted, without those of the other doors. */
export async function countOfApi(db: Database, seqs: readonly number[], parts: readonly string[]): Promise<number> {
  const [counted, others] = await Promise.all([
    countOwners(db, { list: INVOCATIONS_OF_AGENT, parts }, seqs.map(String)),
    selectOther(db, seqs)
      .where('status', 'in', parts)
      .select(({ fn }) => fn.countAll<number>().as('total'))
      .executeTakeFirstOrThrow(),
  ])
  return [...counted.values()].reduce((sum, count) => sum + count, 0) - others.total
}

function selectOther(db: Database, seqs: readonly number[]) {
  return db
    .selectFrom('invocations')
    .where(sql<SqlBool>`door <> 'api'`)
    .where(isOneOf(db, sql`agent_seq`, seqs))
}
