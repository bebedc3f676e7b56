import { type Expression, type SqlBool, sql } from 'kysely'

/** The scope of the pause of the whole service. Every other scope is the id of a project. */
export const SERVICE_PAUSE = 'service'

/** Who has paused a service that was restored. Then webhooks wait too: the original may have sent what the copy would send. */
export const BY_RESTORE = 'restore'

/** Whether nothing is sent to webhooks, because the service was restored and not resumed since. */
export const isHeldBack: Expression<SqlBool> = sql<SqlBool>`exists (
  select 1 from pauses where pauses.scope = ${sql.lit(SERVICE_PAUSE)} and pauses.paused_by = ${sql.lit(BY_RESTORE)})`

/** Whether the project of `agents`, which a query has joined, continues: neither it nor the service is paused. */
export const isGoingOn: Expression<SqlBool> = sql<SqlBool>`not exists (
  select 1 from pauses where pauses.scope in (${sql.lit(SERVICE_PAUSE)}, agents.project_id))`
