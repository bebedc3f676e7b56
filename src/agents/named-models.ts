import { type RawBuilder, sql } from 'kysely'
import type { ModelNames } from '../runtime/models/model.ts'
import { intactJson } from '../storage/damaged-rows.ts'
import type { Database } from '../storage/database.ts'
import { isShown, type ShownAgents } from '../storage/queries/shown-agents.ts'
import { textBytes } from '../storage/queries/text-bytes.ts'
import type { Agent } from './agent.ts'

/** The models named in agents' drafts, each once. For an agent with several models, it is the list of them. */
export async function listNamedModels(db: Database, shown: ShownAgents): Promise<ModelNames[]> {
  const rows = await db
    .selectFrom('agents')
    .select(fieldOf(db, 'model').as('model'))
    .distinct()
    .where('project_id', '=', shown.project_id)
    .where(isShown(db, sql.ref('id'), shown))
    .execute()
  return rows.flatMap((row) => parsed<ModelNames>(row.model) ?? [])
}

/** What an agent's definition says about its model calls. */
export type ModelUser = Pick<Agent, 'project_id' | 'name'> & {
  model: ModelNames
  /** The size of its instructions. */
  instruction_bytes: number
  limits?: { max_output_tokens?: number | null; cut_to_budget?: boolean } | null
}

/** The most agents that one request looks at, and the most bytes of their definitions, which can be long. */
const MOST_LOOKED_AT = 200
const MOST_BYTES = 16 * 1024 * 1024

/**
 * The latest agents with a model that a request can see: one agent, a project's agents, or (null) the agents in every
 * project. Agents with a gate are left out in other projects, because gates are checked only in the request's own
 * project.
 */
export async function listModelUsers(
  db: Database,
  { project_id, agent_id }: { project_id: string | null; agent_id: string | null },
  shown: ShownAgents,
): Promise<ModelUser[]> {
  let select = db
    .selectFrom('agents')
    .select(['id', 'created_at', textBytes('agents', ['definition']).as('bytes')])
    .where(isShown(db, sql.ref('id'), shown))
    .where((one) => one.or([one('project_id', '=', shown.project_id), one('security', 'is', null)]))
  if (agent_id !== null) select = select.where('id', '=', agent_id)
  else if (project_id !== null) select = select.where('project_id', '=', project_id)
  const latest = select.orderBy('created_at', 'desc').orderBy('id', 'desc').limit(MOST_LOOKED_AT)
  const bytesBefore = sql<number>`sum(bytes) over (order by created_at desc, id desc) - bytes`
  const sized = db.selectFrom(latest.as('latest')).select(['id', bytesBefore.as('bytes_before')])
  // The database takes the definitions apart: all of them would block this thread for too long.
  const rows = await db
    .selectFrom(sized.as('sized'))
    .innerJoin('agents', 'agents.id', 'sized.id')
    .select(['agents.project_id', 'agents.name'])
    .select([fieldOf(db, 'model').as('model'), fieldOf(db, 'limits').as('limits')])
    .select(sql<number>`coalesce(octet_length(${definition(db)} ->> 'instructions'), 0)`.as('instruction_bytes'))
    .where('sized.bytes_before', '<', MOST_BYTES)
    .orderBy('agents.created_at', 'desc')
    .orderBy('agents.id', 'desc')
    .execute()
  return rows.flatMap(({ model, limits, ...agent }) => {
    const names = parsed<ModelNames>(model)
    return names ? { ...agent, model: names, limits: parsed<NonNullable<ModelUser['limits']>>(limits) } : []
  })
}

function definition(db: Database): RawBuilder<unknown> {
  return intactJson(db, sql.ref('agents.definition'))
}

/** A field of the definition as JSON. Null if it has none, or is damaged. */
function fieldOf(db: Database, name: 'model' | 'limits'): RawBuilder<string | null> {
  return sql`cast(${definition(db)} -> ${sql.lit(name)} as text)`
}

function parsed<Value>(json: string | null): Value | null {
  return json === null ? null : (JSON.parse(json) as Value | null)
}
