import type { Insertable, Selectable, SqlBool } from 'kysely'
import { sql } from 'kysely'
import { conflict } from '../../errors.ts'
import { jsonOf, readable } from '../../storage/damaged-rows.ts'
import { announce, type Database, engineOf } from '../../storage/database.ts'
import { enqueue } from '../../storage/jobs/jobs.ts'
import { bulkTable } from '../../storage/journal/bulk-table.ts'
import type { Write } from '../../storage/journal/rows.ts'
import type { Tables } from '../../storage/tables.ts'
import type { Rollout } from './rollout.ts'

/** The job that looks at all gradual deployments in progress. */
export const LOOK_JOB = 'rollouts'

/** Starts a gradual deployment, and the job that looks at it. */
export async function insert(
  db: Database,
  rollout: Rollout,
  { job_id, run_at }: { job_id: string; run_at: number },
): Promise<void> {
  await db.insertInto('rollouts').values(toRow(rollout)).execute()
  await enqueue(db, { id: job_id, kind: LOOK_JOB, run_at })
  await announce(db, 'deployments', rollout.agent_id)
}

async function findInProgress(db: Database, agent_id: string, environment: string): Promise<Rollout | undefined> {
  const row = await db
    .selectFrom('rollouts')
    .selectAll()
    .where('agent_id', '=', agent_id)
    .where('environment', '=', environment)
    .where('ended_at', 'is', null)
    .executeTakeFirst()
  return row && fromRow(row)
}

/** All that are in progress, of all agents. */
export async function listInProgress(db: Database): Promise<Rollout[]> {
  const rows = await db
    .selectFrom('rollouts')
    .selectAll()
    .where('ended_at', 'is', null)
    .orderBy('deployment_id')
    .execute()
  return readable(db, rows, fromRow)
}

export async function listOfDeployments(db: Database, deployment_ids: readonly string[]): Promise<Rollout[]> {
  if (deployment_ids.length === 0) return []
  const rows = await db.selectFrom('rollouts').selectAll().where('deployment_id', 'in', deployment_ids).execute()
  return readable(db, rows, fromRow)
}

export async function find(db: Database, deployment_id: string): Promise<Rollout | undefined> {
  const select = db.selectFrom('rollouts').selectAll().where('deployment_id', '=', deployment_id)
  const row = await select.executeTakeFirst()
  return row && fromRow(row)
}

/** Refuses another deployment to an environment in which one is in progress. */
export async function requireNone(db: Database, agent_id: string, environment: string): Promise<void> {
  const running = await findInProgress(db, agent_id, environment)
  if (!running) return
  throw conflict(
    `Deployment ${running.deployment_id} to ${environment} is still in progress. Promote or abort it first.`,
  )
}

/** Reads it again with what was counted since, and locks it. Undefined if it has changed otherwise. */
export async function lockUnchanged(db: Database, rollout: Rollout): Promise<Rollout | undefined> {
  const row = await db
    .selectFrom('rollouts')
    .selectAll()
    .where(isUnchanged(rollout))
    .$if(engineOf(db) === 'postgres', (select) => select.forUpdate())
    .executeTakeFirst()
  return row && fromRow(row)
}

/** Stores what the guard has counted, in the transaction that has locked the rollout. */
export async function keepStatistics(db: Database, rollout: Rollout): Promise<void> {
  const { statistics, looked_at } = toRow(rollout)
  await db.updateTable('rollouts').set({ statistics, looked_at }).where(isUnchanged(rollout)).execute()
}

const ANSWERS = bulkTable('rollout_answers')

/** Written with the receipt, so that the guard reads each answer once, whenever it comes. */
export function answerWrite(rollout_id: string, request_id: string): Write {
  return { into: ANSWERS, row: { rollout_id, request_id } }
}

/** The first requests whose answers aren't counted yet. */
export async function listUncounted(db: Database, { deployment_id }: Rollout, limit: number): Promise<string[]> {
  const rows = await db
    .selectFrom('rollout_answers')
    .select('request_id')
    .where('rollout_id', '=', deployment_id)
    .orderBy('request_id')
    .limit(limit)
    .execute()
  return rows.map(({ request_id }) => request_id)
}

/** Their answers are counted. */
export async function removeCounted(
  db: Database,
  { deployment_id }: Rollout,
  request_ids: readonly string[],
): Promise<void> {
  if (request_ids.length === 0) return
  const counted = db.deleteFrom('rollout_answers').where('rollout_id', '=', deployment_id)
  await counted.where('request_id', 'in', request_ids).execute()
}

/** Removes answers that came after their rollouts had ended, or whose agents were deleted. */
export async function removeLeftAnswers(db: Database): Promise<void> {
  const inProgress = db.selectFrom('rollouts').select('deployment_id').where('ended_at', 'is', null)
  await db.deleteFrom('rollout_answers').where('rollout_id', 'not in', inProgress).execute()
}

/**
 * Stores a change, unless another was made since the rollout was read. So each change is made once, whoever makes it.
 */
export async function change(db: Database, before: Rollout, after: Rollout): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('rollouts')
    .set({ ...toRow(after), revision: before.revision + 1 })
    .where(isUnchanged(before))
    .executeTakeFirst()
  if (numUpdatedRows === 0n) return false
  const { deployment_id, agent_id } = before
  if (after.ended_at !== null) {
    await db.deleteFrom('rollout_answers').where('rollout_id', '=', deployment_id).execute()
  }
  await announce(db, 'deployments', agent_id)
  return true
}

/** Sets of an agent are above this slice, which only checks their names. */
export async function hasSet(db: Database, agent_seq: number, name: string): Promise<boolean> {
  const set = await db
    .selectFrom('sets')
    .select('id')
    .where('agent_seq', '=', agent_seq)
    .where('name', '=', name)
    .executeTakeFirst()
  return set !== undefined
}

/** Replays are above this slice too. Nothing waits for this one any more, so it must not go on calling models. */
export async function cancelReplay(db: Database, id: string, finished_at: number): Promise<void> {
  const { numUpdatedRows } = await db
    .updateTable('replays')
    .set({ status: 'cancelled', finished_at })
    .where('id', '=', id)
    .where('status', '=', 'running')
    .executeTakeFirst()
  if (numUpdatedRows === 0n) return
  // Its cases in progress lose their leases.
  await db.updateTable('cases').set({ due_at: null, owner: null }).where('kept_by', '=', id).execute()
  await announce(db, 'replays', id)
}

function isUnchanged({ deployment_id, revision }: Rollout) {
  return sql<SqlBool>`deployment_id = ${deployment_id} and revision = ${revision} and ended_at is null`
}

function toRow(rollout: Rollout): Insertable<Tables['rollouts']> {
  const { steps, guard, require_replay, statistics, evidence } = rollout
  return {
    ...rollout,
    steps: JSON.stringify(steps),
    guard: JSON.stringify(guard),
    require_replay: require_replay && JSON.stringify(require_replay),
    statistics: statistics && JSON.stringify(statistics),
    evidence: evidence && JSON.stringify(evidence),
  }
}

function fromRow(row: Selectable<Tables['rollouts']>): Rollout {
  const json = jsonOf('rollout', { ...row, id: row.deployment_id })
  return {
    ...row,
    steps: json('steps'),
    guard: json('guard'),
    require_replay: json('require_replay'),
    statistics: json('statistics'),
    evidence: json('evidence'),
  } as Rollout
}
