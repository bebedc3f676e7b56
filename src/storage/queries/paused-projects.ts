import { type Expression, type SqlBool, sql } from 'kysely'

/** The scope that pauses the whole service. Every other scope is a project's ID. */
export const SERVICE_PAUSE = 'service'

/**
 * The actor that paused a restored service. Webhooks are then paused too, because the original service may have already
 * sent the same deliveries.
 */
export const BY_RESTORE = 'restore'

/** The actor that pauses a project during its import. The project can't be resumed before the import is complete. */
export const BY_IMPORT = 'import'

/** Whether webhooks are paused because the service was restored and hasn't been resumed since. */
export const isHeldBack: Expression<SqlBool> = sql<SqlBool>`exists (
  select 1 from pauses where pauses.scope = ${sql.lit(SERVICE_PAUSE)} and pauses.paused_by = ${sql.lit(BY_RESTORE)})`

/** Whether the project of the joined `agents` row is active, so neither the project nor the service is paused. */
export const isGoingOn: Expression<SqlBool> = sql<SqlBool>`not exists (
  select 1 from pauses where pauses.scope in (${sql.lit(SERVICE_PAUSE)}, agents.project_id))`
