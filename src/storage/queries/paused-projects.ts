import { type Expression, type SqlBool, sql } from 'kysely'

/** The scope of the pause of the whole service. Every other scope is the id of a project. */
export const SERVICE_PAUSE = 'service'

/** Whether the project of `agents`, which a query has joined, goes on: neither it nor the service is paused. */
export const isGoingOn: Expression<SqlBool> = sql<SqlBool>`not exists (
  select 1 from pauses where pauses.scope in (${sql.lit(SERVICE_PAUSE)}, agents.project_id))`
