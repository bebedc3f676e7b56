import * as agents from '../agents/store.ts'
import type { Database } from '../storage/database.ts'
import { missingAgents } from '../storage/queries/missing-agents.ts'
import { indexAnew } from './full-text/fts5.ts'
import { termColumns } from './memory-rows.ts'
import { listSeqs, remove } from './store.ts'

const DAY_MS = 86_400_000

/** Removes up to `limit` memories that are older than their agents keep them. */
export async function removeExpired(db: Database, now: number, limit: number): Promise<number> {
  for (const { seq, memory } of await agents.listWithMemory(db, (agent) => agent.memory.retention_days !== null)) {
    const before = now - (memory.retention_days ?? 0) * DAY_MS
    const which = { scope: { agent_seq: seq }, before, through: Number.MAX_SAFE_INTEGER }
    const seqs = await listSeqs(db, which, limit)
    if (seqs.length > 0) return remove(db, seqs)
  }
  return 0
}

/** Removes up to `limit` memories of deleted agents. */
export async function removeOfMissingAgents(db: Database, limit: number): Promise<number> {
  const missing = await missingAgents(db, 'memories')
  if (missing.length === 0) return 0
  const rows = await db.selectFrom('memories').select('seq').where('agent_seq', 'in', missing).limit(limit).execute()
  return remove(
    db,
    rows.map(({ seq }) => seq),
  )
}

/**
 * Gives the next memories after `after` the terms that their texts have today. Returns the last seq. The counts of
 * their scopes must be recounted afterwards.
 */
export async function renewTerms(db: Database, after: number, limit: number): Promise<number | undefined> {
  const rows = await db
    .selectFrom('memories')
    .select(['seq', 'kind', 'content', 'terms', 'length', 'superseded_by'])
    .where('seq', '>', after)
    .orderBy('seq')
    .limit(limit)
    .execute()
  const renewed: number[] = []
  for (const { seq, terms, length, ...memory } of rows) {
    const today = termColumns(memory)
    if (today.terms === terms && today.length === length) continue
    await db.updateTable('memories').set(today).where('seq', '=', seq).execute()
    renewed.push(seq)
  }
  if (renewed.length > 0) await indexAnew(db, renewed)
  return rows.at(-1)?.seq
}
