import { sql } from 'kysely'
import type { ShownAgent } from '../../agents/store.ts'
import type { Database } from '../../storage/database.ts'
import {
  APPROVALS_OF_AGENT,
  APPROVALS_OF_KIND,
  APPROVALS_OF_SESSION,
  APPROVALS_OF_STARTER,
  APPROVALS_OF_USER,
} from '../../storage/queries/counted-lists.ts'
import { isOneOf } from '../../storage/queries/is-one-of.ts'
import { leadOf, whereLed } from '../../storage/queries/lead.ts'
import { type Page, type PageQuery, page } from '../../storage/queries/page.ts'
import { countAgents, pageOfAgents } from '../../storage/queries/page-of-agents.ts'
import { within } from '../../storage/queries/stretches.ts'
import { type Approval, ApprovalStatus } from './approval.ts'
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

/** In the order in which fewest pass. */
const LEADS = [
  { column: 'session_id', list: APPROVALS_OF_SESSION },
  { column: 'user_id', list: APPROVALS_OF_USER },
  { column: 'started_by', list: APPROVALS_OF_STARTER },
  { column: 'kind', list: APPROVALS_OF_KIND },
] as const

/** A page of the approvals of some agents. */
export async function findApprovals(
  db: Database,
  among: readonly ShownAgent[],
  query: PageQuery,
  { status, request_id, start_time, end_time, ...filter }: Filter,
): Promise<Page<ListedApproval>> {
  const seqs = among.map(({ seq }) => seq)
  const led = leadOf(LEADS, filter)
  const range = { from: start_time, to: end_time }
  const parts = status === undefined ? ApprovalStatus.options : [status]
  const select = whereLed(db.selectFrom('approvals').selectAll(), led)
  const { items, total } = await (request_id === undefined ? findCounted() : findOfRun(request_id))
  const ids = new Map(among.map(({ id, seq }) => [seq, id]))
  return { items: items.map((row) => ({ ...fromRow(row), agent_id: ids.get(row.agent_seq) ?? '' })), total }

  async function findCounted() {
    const { list, value } = led.lead ?? { list: APPROVALS_OF_AGENT, value: undefined }
    const wanted = await countAgents(db, { list, value, parts, seqs })
    return pageOfAgents(db, select, query, wanted, { range, isFiltered: led.others.length > 0 })
  }

  /** A run asks for few. */
  function findOfRun(id: string) {
    const ofRun = within(select, APPROVALS_OF_AGENT, range)
      .where('request_id', '=', id)
      .where('status', 'in', parts)
      .where(isOneOf(db, sql`agent_seq`, seqs))
    return page(db, ofRun, query)
  }
}
