import { type Expression, type SqlBool, sql } from 'kysely'
import { type Database, engineOf } from '../database.ts'

/**
 * The agents whose data a list can show: those of one project, limited to `only` if it is set, without those in
 * `except`.
 */
export type ShownAgents = { project_id: string; only: string | null; except: readonly string[] }

/** Whether the agent of a row in that project is shown. A row without an agent belongs to the whole project. */
export function isShown(
  db: Database,
  agent: Expression<unknown>,
  { only, except }: Pick<ShownAgents, 'only' | 'except'>,
): Expression<SqlBool> {
  const inScope = only === null ? sql<SqlBool>`true` : sql<SqlBool>`${agent} = ${only}`
  return except.length === 0 ? inScope : sql<SqlBool>`${inScope} and ${isNotIn(db, agent, except)}`
}

/**
 * Whether a key belongs to the project. Keys with access to all projects belong to none, and are shown only to actors
 * with the same access.
 */
export function isKeyOf(
  project: Expression<unknown>,
  { project_id }: Pick<ShownAgents, 'project_id'>,
  reach: 'project' | 'service',
): Expression<SqlBool> {
  const isOfProject = sql<SqlBool>`${project} = ${project_id}`
  return reach === 'service' ? sql<SqlBool>`(${isOfProject} or ${project} is null)` : isOfProject
}

function isNotIn(db: Database, agent: Expression<unknown>, ids: readonly string[]): Expression<SqlBool> {
  // The IDs are passed as one parameter, because both engines limit the number of parameters.
  const list =
    engineOf(db) === 'postgres'
      ? sql`select unnest(${ids}::text[])`
      : sql`select value from json_each(${JSON.stringify(ids)})`
  return sql<SqlBool>`(${agent} is null or ${agent} not in (${list}))`
}
