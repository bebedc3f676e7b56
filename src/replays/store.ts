import { type Selectable, sql } from 'kysely'
import { type Definition, readDefinition } from '../agents/definition.ts'
import { notFound } from '../errors.ts'
import { STORED, type StoredCase, storedCase } from '../invocations/cases/case-store.ts'
import { jsonOf } from '../storage/damaged-rows.ts'
import { announce, type Database, engineOf } from '../storage/database.ts'
import { anyOf, findAged } from '../storage/queries/aged-rows.ts'
import { countAll } from '../storage/queries/count-rows.ts'
import { firstFitting } from '../storage/queries/first-fitting.ts'
import { removeRowsOfMissingAgents } from '../storage/queries/missing-agents.ts'
import { type Page, type PageQuery, page } from '../storage/queries/page.ts'
import { columnsOf, type Tables } from '../storage/tables.ts'
import { type AnswerColumns, COLUMNS } from './case-column.ts'
import type { CaseOutcome, Durations, Replay, ReplayReport, ReplayVerdict } from './replay-record.ts'

/** A replay with how many of its cases are done. */
type ReplayInProgress = Replay & { finished_cases: number }

export type Definitions = { candidate_definition: Definition; baseline_definition: Definition | null }

type Row = Omit<Selectable<Tables['replays']>, 'definition' | 'baseline_definition'>

const SHOWN = columnsOf('replays', ['definition', 'baseline_definition'])

const FINISHED = sql<number>`(select count(*) from cases where kept_by = replays.id and outcome is not null)`

export async function insert(db: Database, replay: Replay, definitions: Definitions): Promise<void> {
  const { candidate_definition, baseline_definition } = definitions
  await db
    .insertInto('replays')
    .values({
      ...replay,
      filter: replay.filter && JSON.stringify(replay.filter),
      checks: JSON.stringify(replay.checks),
      report: null,
      definition: JSON.stringify(candidate_definition),
      baseline_definition: baseline_definition && JSON.stringify(baseline_definition),
    })
    .execute()
  await announce(db, 'replays')
}

export async function get(db: Database, agent_seq: number, id: string): Promise<ReplayInProgress> {
  const row = await db
    .selectFrom('replays')
    .select([...SHOWN, FINISHED.as('finished_cases')])
    .where('id', '=', id)
    .where('agent_seq', '=', agent_seq)
    .executeTakeFirst()
  if (!row) throw notFound('Replay', id)
  return { ...fromRow(row), finished_cases: Number(row.finished_cases) }
}

type Filter = { status?: string | undefined; set?: string | undefined; version?: string | undefined }

export async function list(
  db: Database,
  agent_seq: number,
  query: PageQuery,
  { status, set, version }: Filter,
): Promise<Page<ReplayInProgress>> {
  let select = db
    .selectFrom('replays')
    .select([...SHOWN, FINISHED.as('finished_cases')])
    .where('agent_seq', '=', agent_seq)
  if (status !== undefined) select = select.where('status', '=', status)
  if (set !== undefined) select = select.where('set_name', '=', set)
  if (version !== undefined) select = select.where('version', '=', version)
  const { items, total } = await page(db, select, query)
  return {
    items: items.map((row) => ({ ...fromRow(row), finished_cases: Number(row.finished_cases) })),
    total,
  }
}

export async function countRunning(db: Database, agent_seq: number): Promise<number> {
  return countAll(db.selectFrom('replays').where('agent_seq', '=', agent_seq).where('status', '=', 'running'))
}

/** A running replay, with what it tests. */
export async function findRunning(db: Database, id: string): Promise<(Replay & Definitions) | undefined> {
  const row = await db
    .selectFrom('replays')
    .selectAll()
    .where('id', '=', id)
    .where('status', '=', 'running')
    .executeTakeFirst()
  if (!row) return undefined
  const { definition: _definition, baseline_definition: _baseline, ...rest } = row
  const json = jsonOf('replay', row)
  const baseline = json<object | null>('baseline_definition')
  return {
    ...fromRow(rest),
    candidate_definition: readDefinition(json<object>('definition')),
    baseline_definition: baseline && readDefinition(baseline),
  }
}

/** Locks the replay, so that its cases end one after the other. Undefined if it isn't running. */
export async function lockRunning(db: Database, id: string): Promise<Replay | undefined> {
  const row = await db
    .selectFrom('replays')
    .select(SHOWN)
    .where('id', '=', id)
    .where('status', '=', 'running')
    .$if(engineOf(db) === 'postgres', (select) => select.forUpdate())
    .executeTakeFirst()
  return row && fromRow(row)
}

export async function setWaiting(db: Database, id: string, waits_for: string | null): Promise<void> {
  await db.updateTable('replays').set({ waits_for }).where('id', '=', id).execute()
}

export async function setReached(db: Database, id: string, reached: 'cost_usd' | 'tokens'): Promise<void> {
  await db.updateTable('replays').set({ reached }).where('id', '=', id).where('reached', 'is', null).execute()
}

type ReplayEnd = { verdict: ReplayVerdict; report: ReplayReport; durations_ms: Durations; finished_at: number }

export async function complete(db: Database, id: string, end: ReplayEnd): Promise<void> {
  const { verdict, report, durations_ms, finished_at } = end
  const told = { report: JSON.stringify({ ...report, durations_ms }), verdict, waits_for: null }
  await db
    .updateTable('replays')
    .set({ ...told, status: 'completed', finished_at })
    .where('id', '=', id)
    .execute()
  await announce(db, 'replays', id)
}

/** Its cases in progress lose their leases. */
export async function cancel(db: Database, id: string, finished_at: number): Promise<void> {
  await db.updateTable('replays').set({ status: 'cancelled', finished_at }).where('id', '=', id).execute()
  await db.updateTable('cases').set({ due_at: null, owner: null }).where('kept_by', '=', id).execute()
  await announce(db, 'replays', id)
}

export type AnsweredCase = StoredCase & AnswerColumns & { outcome: CaseOutcome | null }

/** If answers are longer than this together, a page has fewer cases. */
const PAGE_BYTES = 8 * 1024 * 1024

/** The cases of a replay with their columns, in order. */
export async function listAnswered(
  db: Database,
  id: string,
  query: PageQuery,
  outcome?: CaseOutcome,
): Promise<Page<AnsweredCase>> {
  let select = db
    .selectFrom('cases')
    .select([...STORED, ...COLUMNS, 'outcome'])
    .where('kept_by', '=', id)
  if (outcome !== undefined) select = select.where('outcome', '=', outcome)
  const { items, total } = await page(db, select, query)
  const ofPage = firstFitting(
    items,
    (row) => COLUMNS.reduce((sum, name) => sum + (row[name]?.length ?? 0), 0),
    PAGE_BYTES,
  )
  return {
    items: ofPage.map((row) => {
      const json = jsonOf('case', row)
      const columns = { recorded: json('recorded'), baseline: json('baseline'), candidate: json('candidate') }
      return { ...storedCase(row), ...(columns as AnswerColumns), outcome: row.outcome as CaseOutcome | null }
    }),
    total,
  }
}

/** Removes a few replays that ended before this time, with their cases. */
export async function removeFinished(
  db: Database,
  before: number,
  limit: number,
  agent_seq?: string | number,
): Promise<number> {
  let old = db
    .selectFrom('replays')
    .select('id')
    .where('finished_at', '<', before)
    .limit(Math.ceil(limit / 100))
  if (agent_seq !== undefined) old = old.where('agent_seq', '=', Number(agent_seq))
  const ids = (await old.execute()).map(({ id }) => id)
  if (ids.length === 0) return 0
  await db.deleteFrom('cases').where('kept_by', 'in', ids).execute()
  await db.deleteFrom('replays').where('id', 'in', ids).execute()
  return ids.length
}

/** Removes finished replays that are past their project's retention. Returns how many. */
export async function removeFinishedOfProjects(db: Database, now: number, limit: number): Promise<number> {
  const aged = await findAged(db, { table: 'agents', key: 'seq' }, now, (agent_seq, before) =>
    anyOf(sql`replays where agent_seq = ${agent_seq} and finished_at < ${before}`),
  )
  return aged ? removeFinished(db, aged.before, limit, aged.owner) : 0
}

/** Removes rows of deleted agents, also of their sets; returns how many. */
export async function removeOfMissingAgents(db: Database, limit: number): Promise<number> {
  for (const table of ['cases', 'replays', 'sets'] as const) {
    const removed = await removeRowsOfMissingAgents(db, table, limit)
    if (removed > 0) return removed
  }
  return 0
}

function fromRow(row: Row): Replay {
  const json = jsonOf('replay', row)
  return {
    ...row,
    filter: json('filter'),
    checks: json('checks'),
    report: json('report'),
  } as Replay
}
