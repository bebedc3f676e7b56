import { type Expression, type SqlBool, sql } from 'kysely'
import { budgetOfState, stateOf } from '../../budgets/budget.ts'
import * as budgets from '../../budgets/store.ts'
import { type Database, engineOf } from '../../storage/database.ts'
import { isGoingOn } from '../../storage/queries/paused-projects.ts'
import { listConnected, settlePending } from '../approvals/approval-store.ts'
import { announceTurns, listFreeTurns } from '../turns/turn-store.ts'
import { CHILDREN, ENDS_AFTER_WAIT, GOES_ON_AFTER_WAIT } from './queue-store.ts'

// A literal, not a parameter: with a parameter, neither engine would use the indexes of waiting runs.
const WAITING = sql.lit('waiting')

const WOKEN_AT_ONCE = 200

/** The waiting runs of projects that aren't paused. Those of paused projects wait until their project is resumed. */
function waitingRuns(db: Database) {
  return db
    .selectFrom('runs')
    .where('status', '=', WAITING)
    .where(({ exists, selectFrom }) =>
      exists(selectFrom('agents').select('seq').whereRef('seq', '=', 'runs.agent_seq').where(isGoingOn)),
    )
}

/**
 * Queues waiting runs whose time has come, a batch at a time, and lets their pending approvals expire. Returns how
 * many.
 */
export async function wakeDue(db: Database, now: number): Promise<number> {
  const due = waitingRuns(db)
    .select('id')
    .where('wake_at', '<=', now)
    .orderBy('wake_at')
    .limit(WOKEN_AT_ONCE)
    .$if(engineOf(db) === 'postgres', (waiting) => waiting.forUpdate())
  const ids = (await queueThose(db, due)).map(({ id }) => id)
  await settlePending(db, ids, 'expired', now)
  return ids.length
}

/**
 * The budgets that runs wait for and that have changed or were deleted since. It costs one look-up per budget, no
 * matter how many runs wait.
 */
async function listChangedBudgets(db: Database): Promise<string[]> {
  // The query begins with `select`, so SQLite runs it on a reader and it doesn't wait for the writer.
  const { rows } = await sql<{ state: string }>`select state from (
    with recursive waited(state) as (
      select min(waits_for) from runs where status = 'waiting' and waits_for is not null
      union all
      select (select min(i.waits_for) from runs i
        where i.status = 'waiting' and i.waits_for is not null and i.waits_for > waited.state)
      from waited where waited.state is not null
    )
    select state from waited where state is not null) waited_for`.execute(db)
  const states = rows.map(({ state }) => state).filter((state) => state !== CHILDREN)
  if (states.length === 0) return []
  const known = await budgets.listByIds(db, new Set(states.map(budgetOfState)))
  const current = new Set([...known.values()].map(stateOf))
  return states.filter((state) => !current.has(state))
}

/** Queues runs that wait for budgets which have changed, a batch at a time. Returns how many. */
export async function wakeForBudgets(db: Database): Promise<number> {
  const changed = await listChangedBudgets(db)
  if (changed.length === 0) return 0
  const waiting = waitingRuns(db)
    .select('id')
    .where('waits_for', 'in', changed)
    .orderBy('id')
    .limit(WOKEN_AT_ONCE)
    .$if(engineOf(db) === 'postgres', (runs) => runs.forUpdate().skipLocked())
  return (await queueThose(db, waiting)).length
}

/** Runs that wait only for runs that have ended. */
function answeredRuns(db: Database) {
  return waitingRuns(db)
    .where('waits_for', '=', CHILDREN)
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(selectFrom('runs as called').select('called.id').whereRef('called.parent_request_id', '=', 'runs.id')),
      ),
    )
}

/**
 * Queues runs whose called runs have all ended: the run with this ID, or a batch of such runs. Returns their agents.
 */
export async function wakeParents(db: Database, id?: string): Promise<number[]> {
  const answered = answeredRuns(db)
    .select('id')
    .$if(id !== undefined, (runs) => runs.where('id', '=', id ?? ''))
    .limit(WOKEN_AT_ONCE)
    .$if(engineOf(db) === 'postgres', (runs) => runs.forUpdate().skipLocked())
  return (await queueThose(db, answered)).map(({ agent_seq }) => agent_seq)
}

/** Queues a waiting run because people have decided its approvals. */
export async function queueWaiting(db: Database, id: string): Promise<void> {
  await queueThose(db, sql`(select cast(${id} as text) as id)`)
}

/**
 * Queues the waiting runs of paused agents so that they are cancelled, and cancels their pending approvals. Without an
 * ID, it does so for every paused agent.
 */
export async function queueWaitingOfPaused(db: Database, agent_id: string | undefined, now: number): Promise<number> {
  const paused = db
    .selectFrom('agents')
    .select('seq')
    .where('status', '=', 'paused')
    .$if(agent_id !== undefined, (agents) => agents.where('id', '=', agent_id ?? ''))
  const waiting = db.selectFrom('runs').select('id').where('status', '=', WAITING)
  const ids = (await queueThose(db, waiting.where('agent_seq', 'in', paused), ENDS_AFTER_WAIT)).map(({ id }) => id)
  await settlePending(db, ids, 'cancelled', now)
  return ids.length
}

/** Queues the agent's runs that wait for budgets. */
export async function queueWaitingForBudgets(db: Database, agent_seq: number): Promise<void> {
  const waiting = db.selectFrom('runs').select('id').where('status', '=', WAITING)
  await queueThose(db, waiting.where('agent_seq', '=', agent_seq).where('waits_for', 'is not', null))
}

async function queueThose(
  db: Database,
  ids: Expression<{ id: string }>,
  become: typeof GOES_ON_AFTER_WAIT | typeof ENDS_AFTER_WAIT = GOES_ON_AFTER_WAIT,
): Promise<{ id: string; agent_seq: number }[]> {
  const queued = await db
    .updateTable('runs')
    .set(become)
    .where('status', '=', WAITING)
    .where(sql<SqlBool>`id in ${ids}`)
    .returning(['id', 'agent_seq', 'session_key', 'place'])
    .execute()
  await announceTurns(
    db,
    queued.filter(({ place }) => place !== null),
  )
  return queued
}

/** When the next waiting run continues. A run whose budget has changed is due now. */
export async function findNextWake(db: Database): Promise<number | undefined> {
  const changed = await listChangedBudgets(db)
  if (changed.length > 0) {
    const due = await waitingRuns(db).select('id').where('waits_for', 'in', changed).limit(1).executeTakeFirst()
    if (due) return 0
  }
  if (await answeredRuns(db).select('id').limit(1).executeTakeFirst()) return 0
  if ((await listConnected(db, 1)).length > 0) return 0
  if ((await listFreeTurns(db, 1)).length > 0) return 0
  const next = await waitingRuns(db)
    .select('wake_at')
    .where('wake_at', 'is not', null)
    .orderBy('wake_at')
    .limit(1)
    .executeTakeFirst()
  return next?.wake_at ?? undefined
}
