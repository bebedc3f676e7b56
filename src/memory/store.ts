import type { NewId } from '../lib/id.ts'
import type { Embedder } from '../runtime/models/embedder.ts'
import type { Database } from '../storage/database.ts'
import { type BulkTable, insertMany, rowOf } from '../storage/journal/bulk.ts'
import type { Write } from '../storage/journal/journal.ts'
import { missingAgents } from '../storage/missing-agents.ts'
import type { Page } from '../storage/page.ts'
import { findCandidates } from './candidates.ts'
import { indexNewest, removeFromIndex } from './full-text/fts5.ts'
import type { Conversation, Memory, Scope, Turn } from './memory.ts'
import { type BestOptions, bestOf, type Ranked } from './ranking/best.ts'
import { Scorer } from './ranking/score.ts'
import { storedTerms, termsOf } from './ranking/terms.ts'
import { findSimilar } from './vectors.ts'
import { listed, within } from './within.ts'

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

/** Terms of a query beyond these are left out: a message may have thousands. */
const MAX_QUERY_TERMS = 48
const SEARCHED = 500
/** Recall stands in the way of an answer: it looks at fewer. */
const RECALLED_FROM = 100

type Exchange = Conversation & {
  request_id: string
  message: string
  response: string
  created_at: number
  newId: NewId
}

/** An exchange as rows for the journal. */
export function turnWrites({ message, response, request_id, newId, agent_seq, ...of }: Exchange): Write[] {
  const turn = (role: Turn['role'], content: string): Write => {
    const id = newId('mem', of.created_at)
    const memory = { ...of, id, kind: 'turn' as const, role, content, metadata: { request_id } }
    return { into: MEMORIES, row: rowOf(MEMORIES, toRow(agent_seq, memory)) }
  }
  return [...(message === '' ? [] : [turn('user', message)]), ...(response === '' ? [] : [turn('assistant', response)])]
}

export async function insert(db: Database, agent_seq: number, memories: Memory[]): Promise<void> {
  await insertMany(
    db,
    MEMORIES,
    memories.map((memory) => rowOf(MEMORIES, toRow(agent_seq, memory))),
  )
}

/** The latest turns of the conversation, oldest first. */
export async function history(db: Database, conversation: Conversation, limit: number): Promise<Turn[]> {
  if (conversation.session_id === null || limit === 0) return []
  const turns = await latestTurns(db, conversation, limit).select(['role', 'content']).execute()
  return turns.toReversed() as Turn[]
}

export type SearchOptions = {
  limit: number
  offset?: number
  min_score?: number
  embedder?: Embedder | undefined
}

export type Found = Memory & { score: number }

/** The memories of the scope that fit the query, best first. */
export async function search(
  db: Database,
  scope: Scope,
  query: string,
  { limit, offset = 0, min_score = 0, embedder }: SearchOptions,
): Promise<Page<Found>> {
  const { hits, total } = await findBest(db, scope, query, { cap: SEARCHED, embedder, top: offset + limit, min_score })
  return { items: await read(db, scope, hits.slice(offset)), total }
}

/**
 * What is recalled for the user of a conversation, or without a user for the conversation alone. Its `history` latest
 * turns are left out: the model is shown them anyway.
 */
export async function recall(
  db: Database,
  conversation: Conversation,
  query: string,
  options: { limit: number; history: number; embedder?: Embedder | undefined },
): Promise<Found[]> {
  const { agent_seq, user_id, session_id } = conversation
  const { limit, embedder } = options
  if (limit === 0 || (user_id === null && session_id === null)) return []
  const scope = user_id === null ? conversation : { agent_seq, user_id }
  const { hits } = await findBest(db, scope, query, { cap: RECALLED_FROM, embedder, top: limit + options.history })
  if (hits.length === 0) return []
  const shown = session_id === null ? [] : await latestTurns(db, conversation, options.history).select('seq').execute()
  const known = new Set(shown.map(({ seq }) => seq))
  return read(db, scope, hits.filter(({ seq }) => !known.has(seq)).slice(0, limit))
}

async function findBest(
  db: Database,
  scope: Scope,
  query: string,
  { cap, embedder, ...options }: { cap: number; embedder: Embedder | undefined } & Omit<BestOptions, 'similarity'>,
): Promise<{ hits: Ranked[]; total: number }> {
  const terms = [...new Set(termsOf(query))].slice(0, MAX_QUERY_TERMS)
  const [{ plan, postings }, vector] = await Promise.all([
    findCandidates(db, scope, terms, cap),
    embedder?.query(query),
  ])
  const scorer = new Scorer()
  scorer.score(postings, plan)
  if (!embedder || !vector) return bestOf(postings, scorer, options)
  const scored = Array.from(scorer.memories.subarray(0, scorer.found), (memory) => postings.seqs[memory] as number)
  const similarity = await findSimilar(db, scope, { model: embedder.model, vector }, scored)
  return bestOf(postings, scorer, { ...options, similarity })
}

/** The hits in full; one that was removed meanwhile is left out. */
async function read(db: Database, scope: Scope, hits: Ranked[]): Promise<Found[]> {
  if (hits.length === 0) return []
  const seqs = hits.map(({ seq }) => seq)
  const rows = await db
    .selectFrom(listed(db, seqs).as('given'))
    .crossJoin('memories')
    .whereRef('memories.seq', '=', 'given.seq')
    .where(within(scope))
    .select(['memories.seq', 'memories.id', 'memories.kind', 'memories.role', 'memories.content'])
    .select(['memories.user_id', 'memories.session_id', 'memories.metadata', 'memories.created_at'])
    .execute()
  const bySeq = new Map(rows.map((row) => [row.seq, fromRow(row)]))
  return hits.flatMap(({ seq, score }) => {
    const memory = bySeq.get(seq)
    return memory ? { ...memory, score } : []
  })
}

function latestTurns(db: Database, conversation: Conversation, limit: number) {
  return db
    .selectFrom('memories')
    .where(within(conversation))
    .where('kind', '=', 'turn')
    .orderBy('created_at', 'desc')
    .orderBy('seq', 'desc')
    .limit(limit)
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

type MemoryRow = Pick<ReturnType<typeof toRow>, 'id' | 'content' | 'metadata' | 'created_at'> & {
  kind: string
  role: string | null
  user_id: string
  session_id: string
}

function fromRow({ id, kind, role, user_id, session_id, content, metadata, created_at }: MemoryRow): Memory {
  return {
    id,
    kind: kind as Memory['kind'],
    role: role as Memory['role'],
    content,
    user_id: user_id === '' ? null : user_id,
    session_id: session_id === '' ? null : session_id,
    created_at,
    metadata: JSON.parse(metadata),
  }
}
