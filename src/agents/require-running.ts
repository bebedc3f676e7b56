import { ApiError } from '../errors.ts'
import type { Parts } from '../operation/parts.ts'
import { pausedMessage } from '../operation/pauses.ts'
import type { Database } from '../storage/database.ts'
import type { Agent } from './agent.ts'

/**
 * Refuses new messages for an agent that is paused, alone or with its project or the service. A transaction gives its
 * `db`: it must not wait for a second connection.
 */
export async function requireRunning(
  { name, project_id, status }: Agent,
  { pauses }: Pick<Parts, 'pauses'>,
  db?: Database,
): Promise<void> {
  const pause = await pauses.find(project_id, db)
  if (pause) throw new ApiError('agent_paused', pausedMessage(pause))
  if (status === 'paused') throw new ApiError('agent_paused', `Agent "${name}" is paused`)
}
