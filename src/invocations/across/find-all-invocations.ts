import { type RawBuilder, type SqlBool, sql } from 'kysely'
import type { ShownAgent } from '../../agents/store.ts'
import type { Door } from '../../operation/door.ts'
import { type Database, engineOf } from '../../storage/database.ts'
import {
  INVOCATIONS_OF_AGENT,
  INVOCATIONS_OF_SESSION,
  INVOCATIONS_OF_USER,
} from '../../storage/queries/counted-lists.ts'
import { isOneOf } from '../../storage/queries/is-one-of.ts'
import { leadOf, whereLed } from '../../storage/queries/lead.ts'
import type { Page, PageQuery } from '../../storage/queries/page.ts'
import { countAgents, pageOfAgents } from '../../storage/queries/page-of-agents.ts'
import { findInvocations } from '../find-invocations.ts'
import { type Invocation, InvocationStatus } from '../invocation.ts'
import { listPageOfReceipts, RECEIPT_KEY, type ReceiptKey } from '../rows/receipt-rows.ts'
import { findByDoor, isOfDoor, ofOtherDoors } from './find-by-door.ts'
import { exactStart, pageByIds } from './page-by-ids.ts'

type Filter = { [column in 'status' | 'user_id' | 'session_id']?: string | undefined } & { door?: Door | undefined }

const LEADS = [
  { column: 'session_id', list: INVOCATIONS_OF_SESSION },
  { column: 'user_id', list: INVOCATIONS_OF_USER },
] as const

/**
 * A page of the invocations of several agents. Ids sort by the time at which the requests came, so the primary key has
 * them in order.
 */
export async function findAllInvocations(
  db: Database,
  agents: readonly ShownAgent[],
  query: PageQuery,
  { status, door, ...filter }: Filter,
): Promise<Page<Invocation>> {
  const [only, ...others] = agents
  // An agent alone has indexes of its own, also for pages far down the list.
  if (only && others.length === 0) return findInvocations(db, only.seq, query, { status, door, ...filter })
  const parts = status === undefined ? InvocationStatus.options : [status]
  const led = leadOf(LEADS, filter)
  const { list, value } = led.lead ?? { list: INVOCATIONS_OF_AGENT, value: undefined }
  const wanted = await countAgents(db, { list, value, parts, seqs: agents.map(({ seq }) => seq) })
  const found = wanted.total === 0 ? NOTHING : await findKeys()
  return { items: await listPageOfReceipts(db, found.items), total: found.total }

  async function findKeys(): Promise<Page<ReceiptKey>> {
    const { seqs, total } = wanted
    let select = whereLed(db.selectFrom('invocations').select(RECEIPT_KEY), led)
    if (door !== undefined) select = select.where(isOfDoor(door))
    if (led.lead) {
      const isFiltered = led.others.length > 0 || door !== undefined
      return pageOfAgents(db, select, query, wanted, { isFiltered, columns: RECEIPT_KEY })
    }
    if (door !== undefined && door !== 'api') return findByDoor(db, seqs, query, { door, status })
    const ofAgents = select.where(inOrderOfIds(db, seqs, status))
    if (door === 'api') return pageByIds(db, ofAgents, query, { ...wanted, without: ofOtherDoors(seqs) })
    return pageByIds(db, ofAgents, query, wanted, { total, exactly: exactStart(db, seqs, wanted) })
  }
}

const NOTHING = { items: [], total: 0 }

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

/**
 * The agents are in an expression that no index fits and that PostgreSQL takes for likely: so both engines read ids in
 * their order. Few invocations have another status than `completed`. They have an index, whose condition SQLite wants
 * to hear in the same words.
 */
function inOrderOfIds(db: Database, seqs: readonly number[], status: string | undefined): RawBuilder<SqlBool> {
  const ofAgents = sql<SqlBool>`coalesce(${isOneOf(db, sql`agent_seq`, seqs)}, false)`
  const isSqlite = engineOf(db) === 'sqlite'
  if (status === undefined) return isSqlite ? sql`id > '' and ${ofAgents}` : ofAgents
  const ofStatus = sql<SqlBool>`status = ${sql.lit(status)} and ${ofAgents}`
  if (!isSqlite) return ofStatus
  return status === 'completed' ? sql`id > '' and ${ofStatus}` : sql`status <> 'completed' and ${ofStatus}`
}
