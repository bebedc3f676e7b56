import { sql } from 'kysely'
import type { WorkBatch } from '../../lib/work/worker.ts'
import { announce, type Database, engineOf } from '../database.ts'
import { isHeld, type Lease, type LeasedTable, take } from '../leases/lease.ts'

/** Work that any node does at or after `run_at`, at least once. */
export type NewJob = { id: string; kind: string; run_at: number }

/** A running job's lease ends at its `run_at`, when the job is due again. */
export const LEASED_JOBS: LeasedTable = { table: 'jobs', key: ['id'], until: 'run_at', condition: 'owner is not null' }

/** A job that this process may run until its lease ends. */
export type TakenJob = {
  id: string
  kind: string
  /** The number of attempts, including this one. */
  attempts: number
  lease: Lease
}

/**
 * Queues a job. Call this in the transaction that makes the work necessary. Returns false if a job of this kind is
 * already queued. A running job doesn't count, because it may have started too early.
 */
export async function enqueue(db: Database, job: NewJob): Promise<boolean> {
  const inserted = await db
    .insertInto('jobs')
    .values({ ...job, attempts: 0 })
    .onConflict((taken) => taken.doNothing())
    .returning('id')
    .executeTakeFirst()
  if (inserted) await announce(db, 'jobs')
  return inserted !== undefined
}

/** When the next job of each kind can be taken. It costs one look-up per kind, no matter how many jobs wait. */
export async function survey(db: Database, kinds: readonly string[]): Promise<{ key: string; due_at: number }[]> {
  const named = kinds.map((kind) => sql`select cast(${kind} as text) as key`)
  const { rows } = await sql<{ key: string; due_at: number | null }>`
    select key, (select min(run_at) from jobs where kind = kinds.key) as due_at
    from (${sql.join(named, sql` union all `)}) kinds`.execute(db)
  return rows.flatMap(({ key, due_at }) => (due_at === null ? [] : [{ key, due_at }]))
}

/** Makes the queued job of a kind run now if it would otherwise wait until after `latest`. */
export async function hurry(db: Database, kind: string, latest: number, now: number): Promise<void> {
  await db
    .updateTable('jobs')
    .set({ run_at: now })
    .where('kind', '=', kind)
    .where('owner', 'is', null)
    .where('run_at', '>', latest)
    .execute()
}

/** Whether any node runs a job of these kinds. */
export async function isRunning(db: Database, kinds: readonly string[], now: number): Promise<boolean> {
  const leased = db.selectFrom('jobs').select('id').where('owner', 'is not', null).where('run_at', '>', now)
  return (await leased.where('kind', 'in', kinds).limit(1).executeTakeFirst()) !== undefined
}

/** How soon to look for jobs again while other nodes are taking the due ones. */
const LOCKED_MS = 1_000

type TakeOptions = { kind: string; limit: number; owner: string; lease_ms: number }

/** Takes due jobs, both queued ones and those whose lease has ended, and says when the next one is due. */
export async function takeDue(db: Database, options: TakeOptions, now: number): Promise<WorkBatch<TakenJob>> {
  const { kind, limit, owner, lease_ms } = options
  const waiting = db.selectFrom('jobs').where('kind', '=', kind).orderBy('run_at')
  const due = waiting
    .select('id')
    .where('run_at', '<=', now)
    .orderBy('id')
    .limit(limit)
    // Nodes that look at the same time take different rows instead of waiting for each other.
    .$if(engineOf(db) === 'postgres', (jobs) => jobs.forUpdate().skipLocked())
  const until = now + lease_ms
  const taken = await take<Omit<TakenJob, 'lease'>>(db, LEASED_JOBS, {
    due,
    owner,
    until,
    changes: sql`attempts = attempts + 1`,
    returning: sql`id, kind, attempts`,
  })
  const items = taken
    .map((job) => ({ ...job, lease: { key: [job.id], owner, until } }))
    .toSorted((a, b) => (a.id < b.id ? -1 : 1))
  if (items.length === limit) return { items, next: now }
  const next = (await waiting.select('run_at').limit(1).executeTakeFirst())?.run_at
  return { items, next: next === undefined ? undefined : Math.max(next, now + LOCKED_MS) }
}

/** Removes a job that is done, unless another owner has taken it. */
export async function finish(db: Database, { lease }: TakenJob): Promise<void> {
  await db.deleteFrom('jobs').where(isHeld(LEASED_JOBS, lease)).execute()
}

/**
 * Returns the job to the queue, or removes it if another job of its kind was queued in the meantime. If a node queues
 * one at the same moment, this fails, and the job is due again when its lease ends.
 */
export async function requeue(
  db: Database,
  job: TakenJob,
  changes: { run_at: number; attempts: number },
): Promise<void> {
  const { kind, lease } = job
  const waiting = await db
    .selectFrom('jobs')
    .select('id')
    .where('kind', '=', kind)
    .where('owner', 'is', null)
    .executeTakeFirst()
  if (waiting) return finish(db, job)
  await db
    .updateTable('jobs')
    .set({ ...changes, owner: null })
    .where(isHeld(LEASED_JOBS, lease))
    .execute()
  await announce(db, 'jobs')
}
