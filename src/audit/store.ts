import { sql } from 'kysely'
import { type Database, engineOf } from '../storage/database.ts'
import { type Page, type PageQuery, page } from '../storage/queries/page.ts'
import { isShown, type ShownAgents } from '../storage/queries/shown-agents.ts'
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

const COLUMNS = [
  'id',
  'created_at',
  'actor_kind',
  'actor',
  'action',
  'agent_id',
  'target',
  'outcome',
  'code',
  'fields',
  'times',
  'request_id',
  'address',
] as const

const LINKED_COLUMNS = [...COLUMNS, 'seq', 'prev_hash', 'hash'] as const

/** For the journal. */
export const auditTable = { table: 'audit_log', columns: COLUMNS } as const

export function toRow({ fields, ...entry }: AuditEntry) {
  return { ...entry, fields: JSON.stringify(fields) }
}

export async function insert(db: Database, entry: AuditEntry): Promise<void> {
  await db.insertInto('audit_log').values(toRow(entry)).execute()
}

export async function list(db: Database, query: PageQuery, filter: AuditFilter): Promise<Page<StoredAuditEntry>> {
  const { shown, action, actor, agent_id, outcome, since, until } = filter
  let select = db
    .selectFrom('audit_log')
    .select(LINKED_COLUMNS)
    .where(isShown(db, sql.ref('agent_id'), shown))
  if (agent_id !== undefined) select = select.where('agent_id', '=', agent_id)
  if (action !== undefined) select = select.where('action', '=', action)
  if (actor !== undefined) select = select.where('actor', '=', actor)
  if (outcome !== undefined) select = select.where('outcome', '=', outcome)
  if (since !== undefined) select = select.where('created_at', '>=', since)
  if (until !== undefined) select = select.where('created_at', '<', until)
  const { items, total } = await page(db, select, query)
  return { items: items.map(fromRow), total }
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
  return rows.map(fromRow)
}

/** The entries after a position in the chain, in its order. */
export async function listSealed(db: Database, after: number, limit: number): Promise<SealedEntry[]> {
  const rows = await db
    .selectFrom('audit_log')
    .select(LINKED_COLUMNS)
    .where('seq', '>', after)
    .orderBy('seq')
    .limit(limit)
    .execute()
  return rows.map((row) => fromRow(row) as SealedEntry)
}

export async function seal(db: Database, id: string, link: Link): Promise<void> {
  await db.updateTable('audit_log').set(link).where('id', '=', id).execute()
}

/** `head` is the last entry. `tail` is the last entry that retention removed; its seq is 0 if there is none. */
export async function getEnd(db: Database, name: 'head' | 'tail'): Promise<ChainEnd> {
  return db.selectFrom('audit_chain').select(['seq', 'hash']).where('name', '=', name).executeTakeFirstOrThrow()
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

export async function updateEnd(db: Database, name: 'head' | 'tail', { seq, hash }: ChainEnd): Promise<void> {
  await db.updateTable('audit_chain').set({ seq, hash }).where('name', '=', name).execute()
}

export async function removeUpTo(db: Database, seq: number): Promise<void> {
  await db.deleteFrom('audit_log').where('seq', '<=', seq).execute()
}

type Row = { [K in keyof StoredAuditEntry]?: unknown } & { fields: string }

function fromRow({ fields, ...row }: Row): StoredAuditEntry {
  return { ...row, fields: JSON.parse(fields) } as StoredAuditEntry
}
