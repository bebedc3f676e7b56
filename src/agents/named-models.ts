import { sql } from 'kysely'
import type { ModelNames } from '../runtime/models/model-name.ts'
import { type Database, engineOf } from '../storage/database.ts'
import { isShown, type ShownAgents } from '../storage/queries/shown-agents.ts'

/** The models that agents name in their working copies, each once. Of an agent with several it is the list of them. */
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
