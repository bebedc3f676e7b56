import { notFound } from '../errors.ts'
import type { NewId } from '../lib/id.ts'
import type { Conversation, MemoryScope } from '../operation/recall.ts'
import type { Attachment } from '../runtime/attachments/attachment.ts'
import { readable } from '../storage/damaged-rows.ts'
import type { Database } from '../storage/database.ts'
import { bulkTable } from '../storage/journal/bulk-table.ts'
import type { Row, Write } from '../storage/journal/rows.ts'
import { insertMany, writeRows } from '../storage/journal/write-rows.ts'
import type { Storage } from '../storage/open-storage.ts'
import { indexAnew, removeFromIndex } from './full-text/fts5.ts'
import { storedTerms } from './language/terms.ts'
import type { Memory } from './memory.ts'
import { inMemoryScope, listed, scopeOfRun } from './memory-filter.ts'
import { fromRow, type NewMemory, SHOWN, type StoredMemory, toRow } from './memory-rows.ts'
import { forgetSummaries } from './summaries/forget-summaries.ts'
import { countRows, lockCounts, SCOPE_COUNTS, subtractCounts } from './warm/scope-counts.ts'

/** The counts are locked first, so an agent's memories are committed in the order of their `seq`. */
const MEMORIES = bulkTable('memories', { after: SCOPE_COUNTS })

/** The version and deployment that the run used which writes a memory. */
export type WrittenBy = Pick<StoredMemory, 'version' | 'deployment_id'>

type AnsweredMessage = Conversation & {
  request_id: string
  served: WrittenBy
  message: string
  response: string
  attachments?: readonly Attachment[] | null
  created_at: number
  newId: NewId
}

/** A message and its answer as rows for the journal. */
export function turnWrites(answered: AnsweredMessage): Write[] {
  const { message, response, request_id, newId, agent_seq, created_at, served } = answered
  const user_id = answered.user_id ?? ''
  const session_id = answered.session_id ?? ''
  const attachments = answered.attachments?.map(({ file_id, name, media_type, size }) => {
    return { file_id, name, media_type, size }
  })
  const turns = [
    { role: 'user', content: message, metadata: JSON.stringify({ request_id, attachments }) },
    { role: 'assistant', content: response, metadata: JSON.stringify({ request_id }) },
  ].filter(({ content }) => content !== '')
  const rows = turns.map(({ role, content, metadata }) => {
    const { terms, length } = storedTerms('turn', content)
    const id = newId('mem', created_at)
    const of = { id, agent_seq, kind: 'turn', role, user_id, session_id }
    return { ...of, content, metadata, terms, length, created_at, ...served }
  })
  const [first] = rows
  if (!first) return []
  const turn_terms = rows.reduce((sum, { length }) => sum + length, 0)
  const counts = countRows({ ...first, turns: rows.length, turn_terms, notes: 0, note_terms: 0 })
  return [...rows.map((row) => ({ into: MEMORIES, row })), ...counts.map((row) => ({ into: SCOPE_COUNTS, row }))]
}

export async function insert(db: Database, agent_seq: number, memories: NewMemory[]): Promise<void> {
  const rows = memories.map((memory) => toRow(agent_seq, memory))
  const counts = rows.flatMap(countsOf).map((row) => ({ into: SCOPE_COUNTS, row }))
  await writeRows(db, [...counts, ...rows.map((row) => ({ into: MEMORIES, row }))])
}

function countsOf(row: ReturnType<typeof toRow>): Row[] {
  const [turns, notes] = row.kind === 'turn' ? [1, 0] : [0, 1]
  return countRows({ ...row, turns, notes, turn_terms: turns * row.length, note_terms: notes * row.length })
}

/** A memory and its seq in the store. */
export type MemoryRecord = { seq: number; memory: Memory }

export async function get(db: Database, scope: MemoryScope, id: string): Promise<MemoryRecord> {
  const row = await db
    .selectFrom('memories')
    .select(['memories.seq', ...SHOWN])
    .where('memories.id', '=', id)
    .where(inMemoryScope(scope))
    .executeTakeFirst()
  if (!row) throw notFound('Memory', id)
  const { seq, ...shown } = row
  return { seq, memory: fromRow(shown) }
}

/** The next memories of the scope, in the order in which they were written. */
export async function listAfter(
  db: Database,
  scope: MemoryScope,
  after: number,
  limit: number,
): Promise<MemoryRecord[]> {
  const rows = await db
    .selectFrom('memories')
    .select(['memories.seq', ...SHOWN])
    .where(inMemoryScope(scope))
    .where('seq', '>', after)
    .orderBy('seq')
    .limit(limit)
    .execute()
  return readable(db, rows, (row) => ({ seq: row.seq, memory: fromRow(row) }))
}

/** Which of the IDs belong to one of the agents. */
export async function listIdsOfAgents(db: Database, agent_seqs: ReadonlySet<number>, ids: string[]): Promise<string[]> {
  if (ids.length === 0) return []
  const rows = await db.selectFrom('memories').select(['id', 'agent_seq']).where('id', 'in', ids).execute()
  return rows.filter(({ agent_seq }) => agent_seqs.has(agent_seq)).map(({ id }) => id)
}

/** Which of the memories still exist and belong to the scope. */
export async function findMany(db: Database, scope: MemoryScope, seqs: number[]): Promise<Map<number, Memory>> {
  if (seqs.length === 0) return new Map()
  // A cross join makes SQLite start with the few given memories.
  const rows = await db
    .selectFrom(listed(db, seqs).as('given'))
    .crossJoin('memories')
    .whereRef('memories.seq', '=', 'given.seq')
    .where(inMemoryScope(scope))
    .select(['memories.seq', ...SHOWN])
    .execute()
  return new Map(readable(db, rows, (row) => [row.seq, fromRow(row)]))
}

/** Which of the memories a run of the conversation may see. */
export async function findForRun(db: Database, run: Conversation, seqs: number[]): Promise<Map<number, Memory>> {
  const scope = scopeOfRun(run)
  return scope ? findMany(db, scope, seqs) : new Map()
}

/** The turns of one request. They all have the same time, and they contain the request's ID. */
export async function listOfRequest(
  db: Database,
  scope: MemoryScope,
  { request_id, created_at }: { request_id: string; created_at: number },
): Promise<Memory[]> {
  const rows = await db
    .selectFrom('memories')
    .select(SHOWN)
    .where(inMemoryScope(scope))
    .where('memories.created_at', '=', created_at)
    .orderBy('seq')
    .execute()
  return readable(db, rows, fromRow).filter(({ metadata }) => metadata['request_id'] === request_id)
}

/**
 * Updates a memory. Call this in a transaction, after `lock`. No scope may ever have had this `generation`, because it
 * tells every node that keeps the scope in memory to read it again.
 */
export async function update(
  db: Database,
  agent_seq: number,
  { seq, memory }: MemoryRecord,
  generation: string,
): Promise<void> {
  const row = toRow(agent_seq, memory)
  // The new row is counted before the old one is subtracted. Otherwise, a scope's count could fall to zero and the
  // scope could start again with an old generation.
  await insertMany(db, SCOPE_COUNTS, countsOf(row))
  await subtractCounts(db, [seq], generation)
  await forgetSummaries(db, [seq])
  await db.updateTable('memories').set(row).where('seq', '=', seq).execute()
  await indexAnew(db, [seq])
  // The vector now belongs to no model. It is no longer compared with queries, and the memory will get a new one.
  await db.updateTable('memory_vectors').set({ model: '' }).where('memory_seq', '=', seq).execute()
}

/** Locks the memory and returns it once no other transaction is changing or removing memories of its agent. */
export async function lock(db: Database, scope: MemoryScope, id: string): Promise<MemoryRecord> {
  const { seq } = await get(db, scope, id)
  await lockCounts(db, [seq])
  return get(db, scope, id)
}

/** The conversation's latest turns, latest first. */
export async function listLatestTurns(db: Database, conversation: Conversation, limit: number): Promise<number[]> {
  const rows = await db
    .selectFrom('memories')
    .select('seq')
    .where(inMemoryScope(conversation))
    .where('kind', '=', 'turn')
    .orderBy('created_at', 'desc')
    .orderBy('seq', 'desc')
    .limit(limit)
    .execute()
  return rows.map(({ seq }) => seq)
}

/** The newest seq of all memories, or 0. Memories that are written later have higher seqs. */
async function newestSeq(db: Database): Promise<number> {
  const newest = await db
    .selectFrom('memories')
    .select(({ fn }) => fn.max('seq').as('seq'))
    .executeTakeFirst()
  return newest?.seq ?? 0
}

type Which = { scope: MemoryScope; before?: number | undefined; through: number }

export async function listSeqs(db: Database, { scope, before, through }: Which, limit: number): Promise<number[]> {
  let select = db.selectFrom('memories').select('seq').where(inMemoryScope(scope)).where('seq', '<=', through)
  if (before !== undefined) select = select.where('created_at', '<', before)
  const rows = await select.limit(limit).execute()
  return rows.map(({ seq }) => seq)
}

/**
 * Removes memories with their index entries, their share of the counts, and the summaries that may contain their words.
 * Call this in a transaction.
 */
export async function remove(db: Database, seqs: number[]): Promise<number> {
  if (seqs.length === 0) return 0
  await lockCounts(db, seqs)
  await removeFromIndex(db, seqs)
  await subtractCounts(db, seqs)
  await forgetSummaries(db, seqs)
  const { numDeletedRows } = await db.deleteFrom('memories').where('seq', 'in', seqs).executeTakeFirst()
  return Number(numDeletedRows)
}

/** The size of a batch. Others can write between two batches. */
const BATCH_SIZE = 500

/**
 * Removes what a scope contains now, or the part of it that is older than `before`. Returns how many memories it
 * removed.
 */
export async function clear(
  { db, transaction }: Pick<Storage, 'db' | 'transaction'>,
  scope: MemoryScope,
  before?: number,
): Promise<number> {
  const which = { scope, before, through: await newestSeq(db) }
  let removed = 0
  for (;;) {
    const seqs = await listSeqs(db, which, BATCH_SIZE)
    if (seqs.length === 0) return removed
    removed += await transaction((held) => remove(held, seqs))
  }
}
