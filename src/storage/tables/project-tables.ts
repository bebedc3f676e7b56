import { integer, json, text, time } from '../schema/column.ts'
import { table } from '../schema/described-table.ts'

/** The project that always exists. Anything that names no project belongs to it. */
export const DEFAULT_PROJECT = 'prj_default'

export const projectTables = {
  projects: table({
    id: text.primary,
    name: text.unique,
    description: text.nullable,
    limits: json,
    /**
     * The size of its receipts, logs and memories when last measured. Null if it has no limit or hasn't been measured
     * yet.
     */
    stored_bytes: integer.nullable,
    created_at: time,
    updated_at: time,
  }),
  /** One row for each paused project, and one if the service is paused. */
  pauses: table({
    /** The project's ID, or `service`. */
    scope: text.primary,
    /** Null for the service. */
    project_id: text.nullable.references('projects'),
    reason: text,
    paused_by: text,
    paused_at: time,
  }),
}
