import { type RawBuilder, type SqlBool, sql } from 'kysely'
import { DOORS, type Door } from '../../operation/door.ts'
import type { Database } from '../../storage/database.ts'
import { INVOCATIONS_OF_DOOR } from '../../storage/queries/counted-lists.ts'
import { countParts, ownerOf } from '../../storage/queries/counts.ts'
import { isOneOf } from '../../storage/queries/is-one-of.ts'
import { orderOf, type Page, type PageQuery, page, requireSortable } from '../../storage/queries/page.ts'
import { InvocationStatus } from '../invocation.ts'
import { RECEIPT_KEY, type ReceiptKey } from '../rows/receipt-rows.ts'
import { pageByIds } from './page-by-ids.ts'

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
  let select = db
    .selectFrom('invocations')
    .select(RECEIPT_KEY)
    .where(sql<SqlBool>`door <> 'api'`)
    .where(sql<SqlBool>`door = ${sql.lit(door)}`)
    .where(isOneOf(db, sql`agent_seq`, seqs))
  if (status !== undefined) select = select.where('status', '=', status)
  const wanted = {
    list: INVOCATIONS_OF_DOOR,
    owners: seqs.map((seq) => ownerOf(seq, door)),
    parts: status === undefined ? InvocationStatus.options : [status],
  }
  if (orderOf(query.sort).column === wanted.list.order) return pageByIds(db, select, query, wanted)
  const total = await countParts(db, wanted)
  requireSortable(total, query, wanted.list)
  return page(db, select, query, { total: Promise.resolve(total) })
}

/** Most invocations came through the API. PostgreSQL takes this expression for likely, and no index fits it. */
export function isOfDoor(door: Door): RawBuilder<SqlBool> {
  return sql<SqlBool>`coalesce(door = ${door}, false)`
}

/** The lists of invocations that did not come through the API, which alone is not counted. */
export function ofOtherDoors(seqs: readonly number[]) {
  const others = DOORS.filter((door) => door !== 'api')
  return { list: INVOCATIONS_OF_DOOR, owners: seqs.flatMap((seq) => others.map((door) => ownerOf(seq, door))) }
}
