/** The project that is always there. What names no project is in it. */
export const DEFAULT_PROJECT = 'prj_default'

export type ProjectsTable = {
  id: string
  name: string
  description: string | null
  /** JSON. */
  limits: string
  created_at: number
  updated_at: number
}
