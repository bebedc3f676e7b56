import type { Json } from '../../lib/json.ts'
import { announce, type Database, engineOf } from '../database.ts'
import { type BulkTable, rowOf } from '../journal/bulk.ts'
import type { Write } from '../journal/journal.ts'

/** Work to be done by some node, at or after `run_at`, at least once. */
export type NewJob = {
  id: string
  kind: string
  payload: Json
  run_at: number
  /** While a job of this kind waits under the same key, another is left out. One that runs does not count: it may have begun too early. */
  key?: string
}

/** A job that this process may run until its lease ends. */
export type ClaimedJob = {
  id: string
  kind: string
  key: string | null
  payload: string
  /** This time included. */
  attempts: number
  owner: string
}

const COLUMNS = ['id', 'kind', 'key', 'payload', 'run_at', 'attempts'] as const
const JOBS: BulkTable = { table: 'jobs', columns: COLUMNS, announces: 'jobs' }
const KEYED_JOBS: BulkTable = { ...JOBS, merge: { key: ['kind', 'key'], add: [], max: [] } }

/** Belongs into the transaction of whatever makes the work necessary. False when the same work waits already. */
export async function enqueue(db: Database, job: NewJob): Promise<boolean> {
  const inserted = await db
    .insertInto('jobs')
    .values(toRow(job))
    .onConflict((taken) => taken.doNothing())
    .returning('id')
    .executeTakeFirst()
  if (inserted) await announce(db, 'jobs')
  return inserted !== undefined
}

/** The same for an entry of the journal. */
export function jobWrite(job: NewJob): Write {
  return { into: job.key === undefined ? JOBS : KEYED_JOBS, row: rowOf(JOBS, toRow(job)) }
}

/** When the next job of a kind may be taken, those that run here left out. */
export async function nextRunAt(db: Database, kind: string, except: string[]): Promise<number | undefined> {
  const next = await db
    .selectFrom('jobs')
    .select('run_at')
    .where('kind', '=', kind)
    .where('failed_at', 'is', null)
    .$if(except.length > 0, (jobs) => jobs.where('id', 'not in', except))
    .orderBy('run_at')
    .limit(1)
    .executeTakeFirst()
  return next?.run_at
}

type ClaimOptions = { kind: string; limit: number; lease_ms: number; owner: string; except: string[] }

/** Takes jobs that are due: queued ones, and those whose owner let its lease run out. One statement, so that nobody else gets them too. */
export async function claim(db: Database, options: ClaimOptions, now: number): Promise<ClaimedJob[]> {
  const { kind, limit, lease_ms, owner, except } = options
  const claimed = await db
    .with(
      (due) => due('due').materialized(),
      (cte) =>
        cte
          .selectFrom('jobs')
          .select('id')
          .where('kind', '=', kind)
          .where('failed_at', 'is', null)
          .where('run_at', '<=', now)
          .$if(except.length > 0, (jobs) => jobs.where('id', 'not in', except))
          .orderBy('run_at')
          .orderBy('id')
          .limit(limit)
          // Nodes that claim at the same time each take other rows instead of waiting for each other.
          .$if(engineOf(db) === 'postgres', (jobs) => jobs.forUpdate().skipLocked()),
    )
    .updateTable('jobs')
    .set((job) => ({ owner, run_at: now + lease_ms, attempts: job('attempts', '+', 1) }))
    .where('id', 'in', (due) => due.selectFrom('due').select('due.id'))
    .returning(['id', 'kind', 'key', 'payload', 'attempts'])
    .execute()
  return claimed.map((job) => ({ ...job, owner })).toSorted((a, b) => (a.id < b.id ? -1 : 1))
}

/** Extends leases. Returns the jobs that are still this process's. */
export async function renew(db: Database, claimed: ClaimedJob[], run_at: number): Promise<Set<string>> {
  const ids = claimed.map(({ id }) => id)
  const owners = [...new Set(claimed.map(({ owner }) => owner))]
  const renewed = await db
    .updateTable('jobs')
    .set({ run_at })
    .where('id', 'in', ids)
    .where('owner', 'in', owners)
    .returning('id')
    .execute()
  return new Set(renewed.map(({ id }) => id))
}

/** False when the lease was lost to another: then nothing of the run may be kept. */
export async function finish(db: Database, { id, owner }: ClaimedJob): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom('jobs')
    .where('id', '=', id)
    .where('owner', '=', owner)
    .executeTakeFirst()
  return numDeletedRows > 0n
}

/**
 * Back into the queue. If the same work was queued meanwhile under its key, that one stands for both. A node that
 * queues it at this very moment makes this fail, and the job comes back when its lease ends.
 */
export async function requeue(
  db: Database,
  { id, kind, key, owner }: ClaimedJob,
  changes: { run_at: number; attempts: number; error: string | null },
): Promise<void> {
  if (key !== null) {
    const waiting = await db
      .selectFrom('jobs')
      .select('id')
      .where('kind', '=', kind)
      .where('key', '=', key)
      .where('owner', 'is', null)
      .where('failed_at', 'is', null)
      .executeTakeFirst()
    if (waiting) {
      await db.deleteFrom('jobs').where('id', '=', id).where('owner', '=', owner).execute()
      return
    }
  }
  await db
    .updateTable('jobs')
    .set({ ...changes, owner: null })
    .where('id', '=', id)
    .where('owner', '=', owner)
    .execute()
  await announce(db, 'jobs')
}

/** Never tried again; kept for a while, for whoever wants to know why. False when the lease was lost to another. */
export async function giveUp(db: Database, { id, owner }: ClaimedJob, error: string, now: number): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('jobs')
    .set({ owner: null, failed_at: now, error })
    .where('id', '=', id)
    .where('owner', '=', owner)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

export async function removeFailed(db: Database, before: number, limit: number): Promise<number> {
  const old = db.selectFrom('jobs').select('id').where('failed_at', '<', before).limit(limit)
  const { numDeletedRows } = await db.deleteFrom('jobs').where('id', 'in', old).executeTakeFirst()
  return Number(numDeletedRows)
}

function toRow({ id, kind, payload, run_at, key = null }: Omit<NewJob, 'key'> & { key?: string | null }) {
  return { id, kind, key, payload: JSON.stringify(payload), run_at, attempts: 0 }
}
