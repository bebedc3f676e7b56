import type { ShownAgent } from '../../agents/store.ts'
import type { Database } from '../../storage/database.ts'
import type { Page, PageQuery } from '../../storage/queries/page.ts'
import type { Invocation } from '../invocation.ts'
import { listPageOfReceipts, RECEIPT_KEY } from '../rows/receipt-rows.ts'

type Filter = { [column in 'status' | 'door' | 'user_id' | 'session_id']?: string | undefined }

/** The page of the one invocation with an id, if it is of these agents and passes the filter. */
export async function findByRequest(
  db: Database,
  agents: readonly ShownAgent[],
  request_id: string,
  { limit, offset }: PageQuery,
  filter: Filter,
): Promise<Page<Invocation>> {
  const wanted = Object.entries(filter).filter(([, value]) => value !== undefined)
  const rows = await db
    .selectFrom('invocations')
    .select(['agent_seq', 'status', 'door', 'user_id', 'session_id', ...RECEIPT_KEY])
    .where('id', '=', request_id)
    .execute()
  const found = rows.filter(
    (row) =>
      agents.some(({ seq }) => seq === row.agent_seq) &&
      wanted.every(([name, value]) => row[name as 'status'] === value),
  )
  return { items: await listPageOfReceipts(db, found.slice(offset, offset + limit)), total: found.length }
}
