import { sql } from 'kysely'
import type { ShownAgent } from '../../agents/store.ts'
import { firstIdAt } from '../../lib/id.ts'
import { readable } from '../../storage/damaged-rows.ts'
import type { Database } from '../../storage/database.ts'
import { isOneOf } from '../../storage/queries/is-one-of.ts'
import { longPage, type Page, type PageQuery } from '../../storage/queries/page.ts'
import { listBelow } from '../children/child-store.ts'
import type { Approval, ApprovalStatus } from './approval.ts'
import { fromRow } from './approval-store.ts'

type ListedApproval = Approval & { agent_id: string }

type Filter = {
  status?: ApprovalStatus | undefined
  kind?: string | undefined
  request_id?: string | undefined
  user_id?: string | undefined
  session_id?: string | undefined
  started_by?: string | undefined
  start_time?: number | undefined
  end_time?: number | undefined
}

const FILTERS = ['status', 'kind', 'user_id', 'session_id', 'started_by'] as const

/** A page of the approvals of some agents. */
export async function findApprovals(
  db: Database,
  among: readonly ShownAgent[],
  query: PageQuery,
  { start_time, end_time, request_id, ...filter }: Filter,
): Promise<Page<ListedApproval>> {
  const ids = new Map(among.map(({ id, seq }) => [seq, id]))
  let select = db
    .selectFrom('approvals')
    .selectAll()
    .where(isOneOf(db, sql`agent_seq`, [...ids.keys()]))
  for (const column of FILTERS) {
    const value = filter[column]
    if (value !== undefined) select = select.where(column, '=', value)
  }
  if (request_id !== undefined) {
    const below = await listBelow(db, request_id)
    select = select.where('request_id', 'in', [request_id, ...below.map(({ id }) => id)])
  }
  // An ID begins with the time of the request.
  if (start_time !== undefined) select = select.where('id', '>=', firstIdAt('apr', start_time))
  if (end_time !== undefined) select = select.where('id', '<', firstIdAt('apr', end_time))
  const { items, total } = await longPage(db, select, query, { order: 'created_at' })
  return { items: readable(db, items, (row) => ({ ...fromRow(row), agent_id: ids.get(row.agent_seq) ?? '' })), total }
}
