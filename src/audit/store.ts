import { sql } from 'kysely'
import { firstIdAt } from '../lib/id.ts'
import { jsonOf, readable } from '../storage/damaged-rows.ts'
import { type Database, engineOf } from '../storage/database.ts'
import { bulkTable } from '../storage/journal/bulk-table.ts'
import { longPage, type Page, type PageQuery } from '../storage/queries/page.ts'
import { isShown, type ShownAgents } from '../storage/queries/shown-agents.ts'
import { columnsOf } from '../storage/tables.ts'
import type { AuditEntry, Link } from './audit-entry.ts'

/** A stored entry. `seq` and the hashes are null until it is linked into the chain. */
export type StoredAuditEntry = AuditEntry & { seq: number | null; prev_hash: string | null; hash: string | null }

export type SealedEntry = AuditEntry & Link

/** A position in the chain and the hash there. */
export type ChainEnd = { seq: number; hash: string }

export type AuditFilter = {
  shown: ShownAgents
  action?: string | undefined
  actor?: string | undefined
  agent_id?: string | undefined
  outcome?: string | undefined
  since?: number | undefined
  until?: number | undefined
}

const LINK = ['seq', 'prev_hash', 'hash'] as const
const COLUMNS = columnsOf('audit_log', LINK)
const LINKED_COLUMNS = columnsOf('audit_log')

/** For the journal. */
export const auditTable = bulkTable('audit_log', { without: LINK })

export function toRow({ fields, ...entry }: AuditEntry) {
  return { ...entry, fields: JSON.stringify(fields) }
}

export async function insert(db: Database, entry: AuditEntry): Promise<void> {
  await db.insertInto('audit_log').values(toRow(entry)).execute()
}

const FILTERS = ['agent_id', 'actor', 'action', 'outcome'] as const

export async function list(
  db: Database,
  query: PageQuery,
  { shown, since, until, ...filter }: AuditFilter,
): Promise<Page<StoredAuditEntry>> {
  const agent_id = shown.only ?? filter.agent_id
  if (agent_id !== undefined && !isShownAgent(agent_id, shown, filter.agent_id)) return { items: [], total: 0 }
  const wanted = { ...filter, agent_id }
  let select = db.selectFrom('audit_log').select(LINKED_COLUMNS).where('project_id', '=', shown.project_id)
  if (agent_id === undefined) select = select.where(isShown(db, sql.ref('agent_id'), shown))
  for (const column of FILTERS) {
    const value = wanted[column]
    if (value !== undefined) select = select.where(column, '=', value)
  }
  // An ID begins with the time of its entry.
  if (since !== undefined) select = select.where('id', '>=', firstIdAt('aud', since))
  if (until !== undefined) select = select.where('id', '<', firstIdAt('aud', until))
  const { items, total } = await longPage(db, select, query, { order: 'created_at' })
  return { items: readable(db, items, fromRow), total }
}

function isShownAgent(agent_id: string, { except }: ShownAgents, wanted = agent_id): boolean {
  return agent_id === wanted && !except.includes(agent_id)
}

/** The oldest entries that are not in the chain yet. */
export async function listUnsealed(db: Database, limit: number): Promise<AuditEntry[]> {
  const rows = await db
    .selectFrom('audit_log')
    .select(COLUMNS)
    .where('seq', 'is', null)
    .orderBy('position')
    .limit(limit)
    .execute()
  return readable(db, rows, fromRow)
}

/** The entries after a position in the chain, in the chain's order. */
export async function listSealed(db: Database, after: number, limit: number): Promise<SealedEntry[]> {
  const rows = await db
    .selectFrom('audit_log')
    .select(LINKED_COLUMNS)
    .where('seq', '>', after)
    .orderBy('seq')
    .limit(limit)
    .execute()
  return readable(db, rows, (row) => fromRow(row) as SealedEntry)
}

export async function seal(db: Database, id: string, link: Link): Promise<void> {
  await db.updateTable('audit_log').set(link).where('id', '=', id).execute()
}

/** The latest entry of the chain with this action. */
export async function findLatest(
  db: Database,
  { project_id, action }: { project_id: string; action: string },
): Promise<{ seq: number; target: string | null } | undefined> {
  return db
    .selectFrom('audit_log')
    .select(['seq', 'target'])
    .where('project_id', '=', project_id)
    .where('action', '=', action)
    .where('seq', 'is not', null)
    .orderBy('seq', 'desc')
    .limit(1)
    .$narrowType<{ seq: number }>()
    .executeTakeFirst()
}

export async function findFirstSeq(db: Database): Promise<number | undefined> {
  const { seq } = await db
    .selectFrom('audit_log')
    .select((select) => select.fn.min('seq').as('seq'))
    .executeTakeFirstOrThrow()
  return seq ?? undefined
}

/** The last entry of the chain. If the chain is empty, its seq is 0. */
export async function getHead(db: Database): Promise<ChainEnd> {
  return db.selectFrom('audit_chain').select(['seq', 'hash']).where('name', '=', 'head').executeTakeFirstOrThrow()
}

/** Locked until the transaction ends, so that nodes append one after the other. */
export async function lockHead(db: Database): Promise<ChainEnd> {
  return db
    .selectFrom('audit_chain')
    .select(['seq', 'hash'])
    .where('name', '=', 'head')
    .$if(engineOf(db) === 'postgres', (select) => select.forUpdate())
    .executeTakeFirstOrThrow()
}

export async function updateHead(db: Database, { seq, hash }: ChainEnd): Promise<void> {
  await db.updateTable('audit_chain').set({ seq, hash }).where('name', '=', 'head').execute()
}

export async function removeUpTo(db: Database, seq: number): Promise<void> {
  await db.deleteFrom('audit_log').where('seq', '<=', seq).execute()
}

type Row = { [K in keyof StoredAuditEntry]?: unknown } & { id: string; fields: string }

function fromRow(row: Row): StoredAuditEntry {
  return { ...row, fields: jsonOf('audit entry', row)('fields') } as StoredAuditEntry
}
