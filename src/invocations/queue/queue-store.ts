import { type Expression, type RawBuilder, type Selectable, type SqlBool, sql } from 'kysely'
import type { WorkBatch } from '../../lib/work/worker.ts'
import { intactJson } from '../../storage/damaged-rows.ts'
import { type Database, engineOf } from '../../storage/database.ts'
import { hasLapsed, isHeld, type Lease, take } from '../../storage/leases/lease.ts'
import { isGoingOn } from '../../storage/queries/paused-projects.ts'
import { projectLimit } from '../../storage/queries/project-limit.ts'
import type { Tables } from '../../storage/tables.ts'
import type { Invocation } from '../invocation.ts'
import { LEASED_RUNS } from '../rows/invocation-rows.ts'
import { readRuns } from '../rows/read-runs.ts'

/** A run that was taken from the queue. */
export type TakenRun = {
  invocation: Invocation
  /** How many nodes have died while running it, since its last stored step. */
  lapses: number
  /** Whether the run must end because the run that called it has ended. */
  isUnwanted: boolean
  lease: Lease
  /** The session whose turn the run has, and whether other runs wait for that turn. */
  session: { key: string; isAwaited: boolean } | undefined
}

/**
 * A queued run may be taken if it has the turn of its session, or needs none. The condition repeats the indexes' own
 * words, because SQLite only then uses them for the order.
 */
const IS_DUE = sql.raw<SqlBool>("status = 'queued' and place is null")

/** Which queued runs a node looks for: all of them, or only interactive ones, for which it reserves places. */
export type WhichQueued = 'all' | 'interactive'

function isDue(queued: WhichQueued): RawBuilder<SqlBool> {
  return queued === 'all' ? IS_DUE : sql<SqlBool>`${IS_DUE} and priority = 'interactive'`
}

/**
 * Whether queued runs of `agents` may be taken. Runs of a paused project stay queued. If the agent itself is paused,
 * its runs are taken only to be cancelled.
 */
const mayBeTaken = sql<SqlBool>`(agents.status = 'paused' or ${isGoingOn})`

/** The agents with queued runs that may be taken. It costs one look-up per agent, no matter how many runs wait. */
export async function listWaitingAgents(
  db: Database,
  queued: WhichQueued,
): Promise<{ project_id: string; seq: number }[]> {
  const due = isDue(queued)
  const { rows } = await sql<{ project_id: string; seq: number }>`
    select project_id, seq from (
      with recursive waiting(agent_seq) as (
        select (select agent_seq from runs where ${due} and agent_seq > 0 order by agent_seq, rank limit 1)
        union all
        select (select agent_seq from runs where ${due} and agent_seq > waiting.agent_seq order by agent_seq, rank limit 1)
        from waiting where waiting.agent_seq is not null
      )
      select agents.project_id, agents.seq from waiting join agents on agents.seq = waiting.agent_seq
      where ${mayBeTaken}
    ) waiting_agents`.execute(db)
  return rows
}

/**
 * How many runs of the agent are in progress on all nodes. On PostgreSQL, statements that count this agent's runs wait
 * for each other until they end, so two of them never take the same last place.
 */
export function runsUnderWay(db: Database, agent_seq: number, now: number): RawBuilder<number> {
  if (engineOf(db) === 'postgres') return sql<number>`runs_under_way(${agent_seq}, ${now})`
  return sql<number>`(
    select count(*) from runs
    where agent_seq = ${agent_seq} and status = 'running' and lease_until > ${now})`
}

/** How many runs of the project's agents are in progress on all nodes, with the same locking. */
export function runsOfProject(db: Database, project_id: RawBuilder<string>, now: number): RawBuilder<number> {
  if (engineOf(db) === 'postgres') return sql<number>`runs_of_project(${project_id}, ${now})`
  return sql<number>`(
    select count(*) from runs
    where project_id = ${project_id} and status = 'running' and lease_until > ${now})`
}

/** Enough for about a thousand attempts. Further ones are counted but not listed. */
const MAX_ATTEMPTS_TEXT = 50_000

/**
 * The list of attempts, including the one that begins now. It is text, because both engines can extend JSON as text.
 */
function attemptsWithNext(now: number): RawBuilder<string> {
  return sql<string>`case when attempts is null then '[' else substr(attempts, 1, length(attempts) - 1) || ',' end
    || '{"number":' || (attempt + 1) || ',"began_at":' || ${sql.lit(now)} || ',"after":"' || begins_after || '"}]'`
}

/** PostgreSQL returns true, SQLite 1. */
type Row = Selectable<Tables['runs']> & { has_more: boolean | number; is_awaited: boolean | number }

export type TakeOptions = {
  agent_seq: number
  queued: WhichQueued
  limit: number
  owner: string
  now: number
  lease_ms: number
}

/**
 * Takes the agent's due runs, by rank, and marks them as running: at most `limit`, and no more than
 * `limits.max_concurrency` of their definition and `limits.concurrent_runs` of the project allow on all nodes.
 */
export async function takeQueued(db: Database, options: TakeOptions): Promise<WorkBatch<TakenRun>> {
  const { agent_seq, queued, limit, owner, now, lease_ms } = options
  const until = now + lease_ms
  const changes = sql`status = 'running', started_at = coalesce(started_at, ${now}), attempt = attempt + 1,
    attempts = case when attempt = 0 or length(attempts) > ${sql.lit(MAX_ATTEMPTS_TEXT)} then attempts
      else ${attemptsWithNext(now)} end`
  const returning = sql`*, (
    select i.id from runs i
    where agent_seq = ${agent_seq} and ${isDue(queued)} and i.id not in (select due.id from due)
    order by rank, i.id limit 1) is not null as has_more,
    exists (select 1 from runs i where i.session_key = runs.session_key and i.place is not null) as is_awaited`
  const found = await take<Row>(db, LEASED_RUNS, { due: admitted(db, options), owner, until, changes, returning })
  const rows = found.toSorted((a, b) => a.rank - b.rank || (a.id < b.id ? -1 : 1))
  const taken = new Map(rows.map((row) => [row.id, row]))
  const runs = await readRuns(
    db,
    rows.map(({ has_more: _more, is_awaited: _awaited, ...row }) => row),
    now,
  )
  const items = runs.map((invocation) => ({
    invocation,
    lapses: taken.get(invocation.id)?.lapses ?? 0,
    isUnwanted: (taken.get(invocation.id)?.cancel_requested_at ?? null) !== null,
    lease: { key: [invocation.id], owner, until },
    session: sessionOf(taken.get(invocation.id)),
  }))
  if (rows.length === limit) return { items, next: now }
  // The remaining runs must wait for others to end, or another node is taking them now.
  const hasMore = rows[0] ? Boolean(rows[0].has_more) : await hasQueued(db, options)
  if (!hasMore) return { items, next: undefined }
  return { items, next: (await isProjectFull(db, agent_seq, now)) ? 'group full' : 'full' }
}

function sessionOf(row: Row | undefined): TakenRun['session'] {
  return row?.session_key ? { key: row.session_key, isAwaited: Boolean(row.is_awaited) } : undefined
}

/** Whether the agent's project has reached its limit of runs. This check waits for no other statement. */
export async function isProjectFull(db: Database, agent_seq: number, now: number): Promise<boolean> {
  const { rows } = await sql`
    select 1 from agents join projects on projects.id = agents.project_id
    where agents.seq = ${agent_seq} and ${projectLimit(db, 'concurrent_runs')} <= (
      select count(*) from runs
      where runs.project_id = projects.id and runs.status = 'running' and lease_until > ${now})`.execute(db)
  return rows.length > 0
}

/** The `limits.max_concurrency` of a run's version, or of its agent if it uses none. */
export function limitOfRuns(db: Database): RawBuilder<number | null> {
  const definition = intactJson(db, sql`coalesce(versions.definition, agents.definition)`)
  return engineOf(db) === 'postgres'
    ? sql`(${definition} #>> '{limits,max_concurrency}')::bigint`
    : sql`${definition} ->> '$.limits.max_concurrency'`
}

/**
 * The queued runs that may start. An agent's runs can have different limits, because each version has its own. The
 * project is locked first, as in every statement that locks both.
 */
function admitted(db: Database, { agent_seq, queued, limit, now }: TakeOptions): Expression<{ id: string }> {
  const isPostgres = engineOf(db) === 'postgres'
  return sql`(
    with waiting as materialized (
      select id, version, rank from runs where agent_seq = ${agent_seq} and ${isDue(queued)}
        and exists (select 1 from agents where agents.seq = ${agent_seq} and ${mayBeTaken})
      order by rank, id limit ${limit} ${isPostgres ? sql`for update skip locked` : sql``}),
    limits as materialized (
      select asked.version, ${limitOfRuns(db)} as most
      from (select distinct version from waiting) asked
      join agents on agents.seq = ${agent_seq}
      left join versions on versions.agent_id = agents.id and versions.version = asked.version),
    project as materialized (
      select id, most, case when most is null then 0 else ${runsOfProject(db, sql`limited.id`, now)} end as runs
      from (select projects.id, ${projectLimit(db, 'concurrent_runs')} as most
        from agents join projects on projects.id = agents.project_id where agents.seq = ${agent_seq}) limited),
    under_way as materialized (
      select case when (select runs from project) is null then 0
        when exists (select 1 from limits where most is not null)
        then ${runsUnderWay(db, agent_seq, now)} else 0 end as runs)
    select id from (select id, version, row_number() over (order by rank, id) as position from waiting) numbered
    left join limits on coalesce(limits.version, '') = coalesce(numbered.version, '')
    where (limits.most is null or position + (select runs from under_way) <= limits.most)
      and coalesce((select position + runs <= most from project where most is not null), true))`
}

/** Also counts a run whose row is locked by a node that is taking it, or by a decision that comes too late. */
async function hasQueued(db: Database, { agent_seq, queued }: TakeOptions): Promise<boolean> {
  const { rows } = await sql`
    select 1 from agents where agents.seq = ${agent_seq} and ${mayBeTaken}
      and (select id from runs where agent_seq = ${agent_seq} and ${isDue(queued)} order by rank, id limit 1) is not null`.execute(
    db,
  )
  return rows.length > 0
}

/** The value of `waits_for` for a run that waits for runs that it called. */
export const CHILDREN = 'children'

const QUEUED_AGAIN = { status: 'queued', owner: null, lease_until: null, wake_at: null, waits_for: null }

/** The state of a run after a wait. */
export const QUEUED_AFTER_WAIT = { ...QUEUED_AGAIN, begins_after: 'wait' }

/** The place of a run that continues after a wait. Its turn comes before that of runs that haven't started. */
export const FIRST_PLACE = 0

/**
 * Whether a waiting run keeps the turn of its session: it does if it waits for runs that it called, and otherwise gives
 * it up.
 */
const keptTurn = sql<boolean>`coalesce(waits_for, '') = ${sql.lit(CHILDREN)}`

/** The columns of a run that continues after a wait. If it has given up its turn, it is the first in line. */
export const GOES_ON_AFTER_WAIT = {
  ...QUEUED_AFTER_WAIT,
  place: sql<number | null>`case when session_key is null or ${keptTurn} then place else ${sql.lit(FIRST_PLACE)} end`,
}

/** The columns of a waiting run that is taken only to be cancelled. */
export const ENDS_AFTER_WAIT = {
  ...QUEUED_AFTER_WAIT,
  session_key: sql<string | null>`case when ${keptTurn} then session_key end`,
}

/** The columns of a run whose node is stopping or has died. */
const QUEUED_AFTER_LOSS = { ...QUEUED_AGAIN, begins_after: 'lost' }

/** Returns a run to the queue, at its old position, because its node is stopping. */
export async function giveBack(db: Database, lease: Lease): Promise<void> {
  await db.updateTable('runs').set(QUEUED_AFTER_LOSS).where(isHeld(LEASED_RUNS, lease)).execute()
}

/** Returns a run to the queue that was taken but not started. The attempt doesn't count. */
export async function giveBackUnbegun(db: Database, { invocation, lease }: TakenRun): Promise<void> {
  const attempt = invocation.attempt - 1
  const begun = invocation.attempts?.filter(({ number }) => number <= attempt) ?? []
  await db
    .updateTable('runs')
    .set({
      ...QUEUED_AGAIN,
      attempt,
      attempts: begun.length > 0 ? JSON.stringify(begun) : null,
      ...(attempt === 0 && { started_at: null }),
    })
    .where(isHeld(LEASED_RUNS, lease))
    .execute()
}

/** Whether a node still has the lease of a run. It doesn't if the run has ended, or if another node has taken it. */
export async function isStillTaken(db: Database, lease: Lease): Promise<boolean> {
  const held = await db.selectFrom('runs').select('id').where(isHeld(LEASED_RUNS, lease)).executeTakeFirst()
  return held !== undefined
}

/** Returns runs of dead nodes to the queue if they should continue, and returns their IDs. */
export async function requeueLapsed(db: Database, now: number, except: readonly string[] = []): Promise<string[]> {
  let lapsed = db
    .updateTable('runs')
    // The time during which no node was alive must not count against the agents' time limits.
    .set((row) => ({ ...QUEUED_AFTER_LOSS, lapses: row('lapses', '+', 1), deadline_at: null }))
    .where(hasLapsed(LEASED_RUNS, now))
    .where((row) => row.or([row('background', '=', 1), row('keyed', '=', 1)]))
  if (except.length > 0) lapsed = lapsed.where('id', 'not in', except)
  const requeued = await lapsed.returning('id').execute()
  return requeued.map(({ id }) => id)
}

/**
 * Locks a run until the transaction ends, so that other transactions that want to end or wake it wait. An ended run
 * needs no lock.
 */
export async function lock(db: Database, agent_seq: number, id: string): Promise<void> {
  if (engineOf(db) !== 'postgres') return
  await db.selectFrom('runs').select('id').where('id', '=', id).where('agent_seq', '=', agent_seq).forUpdate().execute()
}
