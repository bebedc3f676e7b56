import { sql } from 'kysely'
import type { ModelNames } from '../runtime/models/model.ts'
import { jsonOf, readable } from '../storage/damaged-rows.ts'
import { type Database, engineOf } from '../storage/database.ts'
import { isShown, type ShownAgents } from '../storage/queries/shown-agents.ts'
import type { Agent } from './agent.ts'

/** The models named in agents' drafts, each once. For an agent with several models, it is the list of them. */
export async function listNamedModels(db: Database, shown: ShownAgents): Promise<ModelNames[]> {
  const model =
    engineOf(db) === 'postgres'
      ? sql<string | null>`(intact_json(definition) -> 'model')::text`
      : sql<string | null>`case when json_valid(definition) then definition -> '$.model' end`
  const rows = await db
    .selectFrom('agents')
    .select(model.as('model'))
    .distinct()
    .where('project_id', '=', shown.project_id)
    .where(isShown(db, sql.ref('id'), shown))
    .execute()
  return rows.flatMap((row) => (row.model === null ? [] : [JSON.parse(row.model) as ModelNames]))
}

/** What an agent's definition says about its model calls. */
export type ModelUser = Pick<Agent, 'project_id' | 'name'> & {
  model: ModelNames
  instructions?: string | null | undefined
  limits?: { max_output_tokens?: number | null; cut_to_budget?: boolean } | undefined
}

/** The most agents that one request looks at. */
const MOST_LOOKED_AT = 200

/**
 * The latest agents with a model that a request may see: one agent, those of a project, or (null) those of all
 * projects. Which gates the request passes is only known in its own project, so in other projects agents with a gate
 * are left out.
 */
export async function listModelUsers(
  db: Database,
  { project_id, agent_id }: { project_id: string | null; agent_id: string | null },
  shown: ShownAgents,
): Promise<ModelUser[]> {
  let select = db
    .selectFrom('agents')
    .select(['id', 'project_id', 'name', 'definition'])
    .where(isShown(db, sql.ref('id'), shown))
    .where((one) => one.or([one('project_id', '=', shown.project_id), one('security', 'is', null)]))
  if (agent_id !== null) select = select.where('id', '=', agent_id)
  else if (project_id !== null) select = select.where('project_id', '=', project_id)
  const rows = await select.orderBy('created_at', 'desc').orderBy('id', 'desc').limit(MOST_LOOKED_AT).execute()
  const agents = readable(db, rows, (row): ModelUser | undefined => {
    const { model, instructions, limits } = jsonOf('agent', row)<Partial<ModelUser>>('definition')
    return model ? { project_id: row.project_id, name: row.name, model, instructions, limits } : undefined
  })
  return agents.filter((agent) => agent !== undefined)
}
