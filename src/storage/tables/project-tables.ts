import { integer, json, text, time } from '../schema/column.ts'
import { table } from '../schema/described-table.ts'

/** The project that is always there. What names no project is in it. */
export const DEFAULT_PROJECT = 'prj_default'

export const projectTables = {
  projects: table({
    id: text.primary,
    name: text.unique,
    description: text.nullable,
    limits: json,
    /** How much its receipts, logs and memories take, as last measured. Null: it has no limit, or is not measured yet. */
    stored_bytes: integer.nullable,
    created_at: time,
    updated_at: time,
  }),
  /** One row for each project that is paused, and one for the service. */
  pauses: table({
    /** The id of the project, or `service`. */
    scope: text.primary,
    /** Null for the service. */
    project_id: text.nullable.references('projects'),
    reason: text,
    paused_by: text,
    paused_at: time,
  }),
}
