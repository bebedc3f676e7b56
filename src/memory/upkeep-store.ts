import { sql } from 'kysely'
import * as agents from '../agents/store.ts'
import type { Database } from '../storage/database.ts'
import { anyOf, findAged } from '../storage/queries/aged-rows.ts'
import { missingAgents } from '../storage/queries/missing-agents.ts'
import { restoreSuperseded } from './facts/fact-store.ts'
import { listSeqs, remove } from './store.ts'

const DAY_MS = 86_400_000

/** Removes up to `limit` memories that are past their agent's retention. */
export async function removeExpired(db: Database, now: number, limit: number): Promise<number> {
  for (const { seq, memory } of await agents.listWithMemory(db, (agent) => agent.memory.retention_days !== null)) {
    const before = now - (memory.retention_days ?? 0) * DAY_MS
    const which = { scope: { agent_seq: seq }, before, through: Number.MAX_SAFE_INTEGER }
    const seqs = await listSeqs(db, which, limit)
    if (seqs.length > 0) return remove(db, seqs)
  }
  return 0
}

/** Removes up to `limit` memories that are past their project's retention. */
export async function removeOfProjects(db: Database, now: number, limit: number): Promise<number> {
  const aged = await findAged(db, { table: 'agents', key: 'seq' }, now, (agent_seq, before) =>
    anyOf(sql`memories where agent_seq = ${agent_seq} and created_at < ${before}`),
  )
  if (!aged) return 0
  const scope = { agent_seq: Number(aged.owner) }
  return remove(db, await listSeqs(db, { scope, before: aged.before, through: Number.MAX_SAFE_INTEGER }, limit))
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

export async function countOfDeployment(db: Database, deployment_id: string): Promise<number> {
  const { count } = await db
    .selectFrom('memories')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('deployment_id', '=', deployment_id)
    .executeTakeFirstOrThrow()
  return Number(count)
}

/**
 * Removes up to `limit` memories that the deployment's runs have written. Facts that they replaced become current
 * again. Call this in a transaction.
 */
export async function removeOfDeployment(
  db: Database,
  { agent_seq, deployment_id }: { agent_seq: number; deployment_id: string },
  limit: number,
): Promise<number> {
  const rows = await db
    .selectFrom('memories')
    .select(['seq', 'id', 'kind'])
    .where('deployment_id', '=', deployment_id)
    .orderBy('seq')
    .limit(limit)
    .execute()
  const removed = await remove(
    db,
    rows.map(({ seq }) => seq),
  )
  const facts = rows.filter(({ kind }) => kind === 'fact').map(({ id }) => id)
  await restoreSuperseded(db, agent_seq, facts)
  return removed
}
