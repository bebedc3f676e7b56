import type { ShownAgent } from '../../agents/store.ts'
import type { Needs } from '../../operation/context.ts'
import type { Page, PageQuery } from '../../storage/queries/page.ts'
import type { Invocation } from '../invocation.ts'
import { listPageOfReceipts, RECEIPT_KEY } from '../rows/receipt-rows.ts'

type Filter = { [column in (typeof COLUMNS)[number]]?: string | undefined }

const COLUMNS = ['status', 'door', 'user_id', 'session_id', 'parent_request_id'] as const

/** The page of the one invocation with an id, if it is of these agents and passes the filter. */
export async function findByRequest(
  { db, reserve }: Needs<'db' | 'reserve'>,
  agents: readonly ShownAgent[],
  request_id: string,
  { limit, offset }: PageQuery,
  filter: Filter,
): Promise<Page<Invocation>> {
  const wanted = Object.entries(filter).filter(([, value]) => value !== undefined)
  const rows = await db
    .selectFrom('all_invocations')
    .select(['agent_seq', ...COLUMNS, ...RECEIPT_KEY])
    .where('id', '=', request_id)
    .execute()
  const found = rows.filter(
    (row) =>
      agents.some(({ seq }) => seq === row.agent_seq) &&
      wanted.every(([name, value]) => row[name as 'status'] === value),
  )
  return { items: await listPageOfReceipts({ db, reserve }, found.slice(offset, offset + limit)), total: found.length }
}
