import type { PauseSource } from '../runtime/deadline.ts'
import type { Database } from '../storage/database.ts'

/** What is paused: everything that a project does, or everything that the service does. */
export type Pause = {
  /** Null for the whole service. */
  project_id: string | null
  reason: string
  paused_by: string
  paused_at: number
}

/** What is paused now, as every node knows it. `pauses/` implements it. */
export type Pauses = PauseSource & {
  /** The pause of the service, or else of the project: from memory, or as this transaction sees it. */
  find(project_id: string, db?: Database): Promise<Pause | undefined>
  /** Stops what is in progress in paused projects. A change does this by itself. */
  check(): Promise<void>
}

/** As clients see it. */
export function pausedMessage({ project_id, reason }: Pause): string {
  return `The ${project_id === null ? 'service' : 'project'} is paused: ${reason}`
}
