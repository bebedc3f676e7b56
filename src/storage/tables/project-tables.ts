/** The project that is always there. What names no project is in it. */
export const DEFAULT_PROJECT = 'prj_default'

export type ProjectsTable = {
  id: string
  name: string
  description: string | null
  /** JSON. */
  limits: string
  /** How much its receipts, logs and memories take, as last measured. Null: it has no limit, or is not measured yet. */
  stored_bytes: number | null
  created_at: number
  updated_at: number
}

/** One row for each project that is paused, and one for the service. */
export type PausesTable = {
  /** The id of the project, or `service`. */
  scope: string
  /** Null for the service. */
  project_id: string | null
  reason: string
  paused_by: string
  paused_at: number
}
