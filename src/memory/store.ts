import type { NewId } from '../lib/id.ts'
import type { Conversation, MemoryScope as Scope, Turn } from '../operation/recall.ts'
import type { Database } from '../storage/database.ts'
import { type BulkTable, rowOf, type Write } from '../storage/journal/rows.ts'
import { insertMany } from '../storage/journal/write-rows.ts'
import { missingAgents } from '../storage/missing-agents.ts'
import { indexAnew, indexNewest, removeFromIndex } from './full-text/fts5.ts'
import type { Memory } from './memory.ts'
import { storedTerms } from './ranking/terms.ts'
import { countRows, SCOPE_COUNTS, subtractCounts } from './warm/scope-counts.ts'
import { within } from './within.ts'

const COLUMNS = [
  'id',
  'agent_seq',
  'kind',
  'role',
  'user_id',
  'session_id',
  'content',
  'metadata',
  'terms',
  'length',
  'created_at',
] as const

const MEMORIES: BulkTable = { table: 'memories', columns: COLUMNS, after: indexNewest }

type Exchange = Conversation & {
  request_id: string
  message: string
  response: string
  created_at: number
  newId: NewId
}

/** An exchange as rows for the journal. */
export function turnWrites({ message, response, request_id, newId, agent_seq, ...of }: Exchange): Write[] {
  const turn = (role: Turn['role'], content: string) => {
    const id = newId('mem', of.created_at)
    const memory = { ...of, id, kind: 'turn' as const, role, content, metadata: { request_id } }
    return toRow(agent_seq, memory)
  }
  const rows = [
    ...(message === '' ? [] : [turn('user', message)]),
    ...(response === '' ? [] : [turn('assistant', response)]),
  ]
  return [
    ...rows.map((row) => ({ into: MEMORIES, row: rowOf(MEMORIES, row) })),
    ...countRows(rows).map((row) => ({ into: SCOPE_COUNTS, row })),
  ]
}

export async function insert(db: Database, agent_seq: number, memories: Memory[]): Promise<void> {
  const rows = memories.map((memory) => toRow(agent_seq, memory))
  await insertMany(
    db,
    MEMORIES,
    rows.map((row) => rowOf(MEMORIES, row)),
  )
  await insertMany(db, SCOPE_COUNTS, countRows(rows))
}

/** The latest turns of the conversation, the latest first. */
export async function listLatestTurns(db: Database, conversation: Conversation, limit: number): Promise<number[]> {
  const rows = await db
    .selectFrom('memories')
    .select('seq')
    .where(within(conversation))
    .where('kind', '=', 'turn')
    .orderBy('created_at', 'desc')
    .orderBy('seq', 'desc')
    .limit(limit)
    .execute()
  return rows.map(({ seq }) => seq)
}

/** The newest of all, or 0: what is written from now on comes after it. */
export async function newestSeq(db: Database): Promise<number> {
  const newest = await db
    .selectFrom('memories')
    .select(({ fn }) => fn.max('seq').as('seq'))
    .executeTakeFirst()
  return newest?.seq ?? 0
}

type Which = { scope: Scope; before?: number | undefined; through: number }

export async function listSeqs(db: Database, { scope, before, through }: Which, limit: number): Promise<number[]> {
  let select = db.selectFrom('memories').select('seq').where(within(scope)).where('seq', '<=', through)
  if (before !== undefined) select = select.where('created_at', '<', before)
  const rows = await select.limit(limit).execute()
  return rows.map(({ seq }) => seq)
}

/** From the index first: a memory that is half removed is found by the next removal. */
export async function remove(db: Database, seqs: number[]): Promise<number> {
  if (seqs.length === 0) return 0
  await removeFromIndex(db, seqs)
  await subtractCounts(db, seqs)
  const { numDeletedRows } = await db.deleteFrom('memories').where('seq', 'in', seqs).executeTakeFirst()
  return Number(numDeletedRows)
}

/** Up to `limit` memories of agents that are no more. */
export async function removeOfMissingAgents(db: Database, limit: number): Promise<number> {
  const agents = await missingAgents(db, 'memories')
  if (agents.length === 0) return 0
  const rows = await db.selectFrom('memories').select('seq').where('agent_seq', 'in', agents).limit(limit).execute()
  return remove(
    db,
    rows.map(({ seq }) => seq),
  )
}

/**
 * Gives the next memories after `after` the terms that their texts have today; where they end. The counts of their scopes
 * are to be counted anew afterwards.
 */
export async function renewTerms(db: Database, after: number, limit: number): Promise<number | undefined> {
  const rows = await db
    .selectFrom('memories')
    .select(['seq', 'kind', 'content', 'terms', 'length'])
    .where('seq', '>', after)
    .orderBy('seq')
    .limit(limit)
    .execute()
  const renewed: number[] = []
  for (const { seq, kind, content, terms, length } of rows) {
    const today = storedTerms(kind, content)
    if (today.terms === terms && today.length === length) continue
    await db.updateTable('memories').set(today).where('seq', '=', seq).execute()
    renewed.push(seq)
  }
  if (renewed.length > 0) await indexAnew(db, renewed)
  return rows.at(-1)?.seq
}

function toRow(agent_seq: number, memory: Memory) {
  const { terms, length } = storedTerms(memory.kind, memory.content)
  return {
    id: memory.id,
    agent_seq,
    kind: memory.kind,
    role: memory.role,
    user_id: memory.user_id ?? '',
    session_id: memory.session_id ?? '',
    content: memory.content,
    metadata: JSON.stringify(memory.metadata),
    terms,
    length,
    created_at: memory.created_at,
  }
}
