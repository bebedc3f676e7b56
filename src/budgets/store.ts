import { sql } from 'kysely'
import { jsonOf, readable } from '../storage/damaged-rows.ts'
import { announce, type Database, engineOf } from '../storage/database.ts'
import { countAll } from '../storage/queries/count-rows.ts'
import { type Page, type PageQuery, page } from '../storage/queries/page.ts'
import { isKeyOf, isShown, type ShownAgents } from '../storage/queries/shown-agents.ts'
import type { Tables } from '../storage/tables.ts'
import type { Budget, SpentSums } from './budget.ts'

export type BudgetFilter = {
  shown: ShownAgents
  reach: 'project' | 'service'
  scope_type?: Budget['scope_type'] | undefined
}

export async function find(db: Database, id: string): Promise<Budget | undefined> {
  const row = await db.selectFrom('budgets').selectAll().where('id', '=', id).executeTakeFirst()
  return row && fromRow(row)
}

/** Locks the budget, if it exists, until the transaction ends, so that changes happen one after the other. */
export async function lock(db: Database, id: string): Promise<void> {
  if (engineOf(db) !== 'postgres') return
  await db.selectFrom('budgets').select('id').where('id', '=', id).forUpdate().execute()
}

/** The budgets of a project, and those of the service if the actor has access to all projects. */
export async function list(db: Database, query: PageQuery, filter: BudgetFilter): Promise<Page<Budget>> {
  let select = db
    .selectFrom('budgets')
    .selectAll()
    .where(isKeyOf(sql.ref('project_id'), filter.shown, filter.reach))
    .where(isShown(db, sql.ref('agent_id'), filter.shown))
  if (filter.scope_type !== undefined) select = select.where('scope_type', '=', filter.scope_type)
  const { items, total } = await page(db, select, query)
  return { items: readable(db, items, fromRow), total }
}

/** All stored budgets that may apply to spending in a project: its own, and those of the service. */
export function listOver(db: Database, project_id: string): Promise<Tables['budgets'][]> {
  return db
    .selectFrom('budgets')
    .selectAll()
    .where((one) => one.or([one('project_id', '=', project_id), one('project_id', 'is', null)]))
    .orderBy('id')
    .execute()
}

/** The budgets of these rows, without damaged ones. */
export function readBudgets(db: Database, rows: readonly Tables['budgets'][]): Budget[] {
  return readable(db, rows, fromRow)
}

export async function listByIds(db: Database, ids: ReadonlySet<string>): Promise<Map<string, Budget>> {
  const rows = await db
    .selectFrom('budgets')
    .selectAll()
    .where('id', 'in', [...ids])
    .execute()
  return new Map(readable(db, rows, fromRow).map((budget) => [budget.id, budget]))
}

/** Counts the budgets of the project (null: of the service). None can be added until the transaction ends. */
export async function countAndHold(db: Database, project_id: string | null): Promise<number> {
  if (engineOf(db) === 'postgres') {
    await sql`select pg_advisory_xact_lock(hashtextextended(${`budgets of ${project_id}`}, 0))`.execute(db)
  }
  return countAll(db.selectFrom('budgets').where('project_id', project_id === null ? 'is' : '=', project_id))
}

export async function insert(db: Database, budget: Budget): Promise<void> {
  await db
    .insertInto('budgets')
    .values({ ...budget, thresholds: JSON.stringify(budget.thresholds) })
    .execute()
  await announceIn(db, budget)
}

export async function update(
  db: Database,
  id: string,
  { thresholds, ...changes }: Pick<Budget, 'name' | 'amount' | 'thresholds' | 'action' | 'updated_at'>,
): Promise<void> {
  const row = { ...changes, thresholds: JSON.stringify(thresholds) }
  const named = db.updateTable('budgets').set(row).where('id', '=', id)
  const changed = await named.returning('project_id').executeTakeFirst()
  if (changed) await announceIn(db, changed)
}

export async function remove(db: Database, id: string): Promise<void> {
  const removed = await db.deleteFrom('budgets').where('id', '=', id).returning('project_id').executeTakeFirst()
  await db.deleteFrom('budget_counters').where('budget_id', '=', id).execute()
  if (removed) await announceIn(db, removed)
}

/** A budget without a project applies to all of them. */
function announceIn(db: Database, { project_id }: Pick<Budget, 'project_id'>): Promise<void> {
  return announce(db, 'budgets', project_id ?? undefined)
}

/** Moves an agent's budgets to another project with it. */
export async function moveOfAgent(db: Database, agent_id: string, project_id: string): Promise<void> {
  const { numUpdatedRows } = await db
    .updateTable('budgets')
    .set({ project_id })
    .where('agent_id', '=', agent_id)
    .executeTakeFirst()
  // The old project has lost a budget, so every node drops all cached budgets.
  if (numUpdatedRows > 0n) await announce(db, 'budgets')
}

/**
 * Stops counting the user's spending, and removes the user from the project's budgets. A counter in which calls in
 * progress have reserved an amount stays until they have released it.
 */
export async function forgetUser(db: Database, project_id: string, user_id: string): Promise<void> {
  const ofUsers = db.selectFrom('budgets').where('project_id', '=', project_id).where('scope_type', '=', 'user')
  const ids = ofUsers.select('id')
  await db
    .deleteFrom('budget_counters')
    .where('subject', '=', user_id)
    .where('budget_id', 'in', ids)
    .where('reserved', '<=', 0)
    .execute()
  await db
    .updateTable('budget_counters')
    .set({ used: 0, told: 0, exceeded: 0, kept: 0 })
    .where('subject', '=', user_id)
    .where('budget_id', 'in', ids)
    .execute()
  const named = await ofUsers.select('id').where('scope_id', '=', user_id).execute()
  for (const { id } of named) await remove(db, id)
}

const NOTHING_SPENT: SpentSums = { subject: '', used: 0, reserved: 0 }

/** The sums of a period: of this subject, or of the subject that has used the most. */
export async function findCounter(
  db: Database,
  budget_id: string,
  period_start: number,
  subject?: string,
): Promise<SpentSums> {
  let select = db
    .selectFrom('budget_counters')
    .select(['subject', 'used', 'reserved'])
    .where('budget_id', '=', budget_id)
    .where('period_start', '=', period_start)
    .orderBy('used', 'desc')
    .orderBy('subject')
    .limit(1)
  if (subject !== undefined) select = select.where('subject', '=', subject)
  return (await select.executeTakeFirst()) ?? { ...NOTHING_SPENT, subject: subject ?? '' }
}

function fromRow(row: Tables['budgets']): Budget {
  return {
    ...row,
    scope_type: row.scope_type as Budget['scope_type'],
    limit_kind: row.limit_kind as Budget['limit_kind'],
    per: row.per as Budget['per'],
    action: row.action as Budget['action'],
    thresholds: jsonOf('budget', row)('thresholds'),
  }
}
