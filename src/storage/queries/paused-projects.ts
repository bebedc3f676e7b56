import { type Expression, type SqlBool, sql } from 'kysely'

/** The scope that pauses the whole service. Every other scope is a project's ID. */
export const SERVICE_PAUSE = 'service'

/**
 * Who paused a restored service. Webhooks then wait too: the original may already have sent what the copy would send.
 */
export const BY_RESTORE = 'restore'

/** Who paused a project until its import is complete. Until then it can't be resumed. */
export const BY_IMPORT = 'import'

/** Whether webhooks are paused, because the service was restored and hasn't been resumed since. */
export const isHeldBack: Expression<SqlBool> = sql<SqlBool>`exists (
  select 1 from pauses where pauses.scope = ${sql.lit(SERVICE_PAUSE)} and pauses.paused_by = ${sql.lit(BY_RESTORE)})`

/** Whether the project of the joined `agents` row is active: neither it nor the service is paused. */
export const isGoingOn: Expression<SqlBool> = sql<SqlBool>`not exists (
  select 1 from pauses where pauses.scope in (${sql.lit(SERVICE_PAUSE)}, agents.project_id))`
