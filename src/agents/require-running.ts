import { ApiError } from '../errors.ts'
import type { Parts } from '../operation/parts.ts'
import { pausedMessage } from '../operation/pauses.ts'
import type { Agent } from './agent.ts'

/** Refuses new messages for an agent that is paused, alone or with its project or the service. */
export async function requireRunning(
  { name, project_id, status }: Agent,
  { pauses }: Pick<Parts, 'pauses'>,
): Promise<void> {
  const pause = await pauses.find(project_id)
  if (pause) throw new ApiError('agent_paused', pausedMessage(pause))
  if (status === 'paused') throw new ApiError('agent_paused', `Agent "${name}" is paused`)
}
