import { ApiError, type ErrorCode } from '../../../errors.ts'
import type { StreamEvent } from '../../../runtime/following/transcript.ts'
import type { Given } from '../../../runtime/given.ts'
import type { Usage } from '../../../runtime/models/usage.ts'

/** What operations return about an invocation, limited to what this dialect shows. */
export type AnsweredRun = {
  request_id: string
  agent_id: string
  status: 'queued' | 'running' | 'waiting' | 'completed' | 'failed' | 'cancelled'
  background: boolean
  message: string
  context: Record<string, unknown>
  given: Given | null
  response: string | null
  calls: readonly CallerCall[]
  error: { code: ErrorCode; message: string; retry_after?: number } | null
  usage: Usage
  steps: readonly { kind: string; finish?: 'length' | 'filtered' }[]
  created_at: number
  finished_at: number | null
  erased_at: number | null
  /** Set while it waits: whether people have to do something. */
  asks_people?: boolean
}

/** A call that the caller has to make, and its position among the answer's calls. */
export type CallerCall = { name: string; arguments: unknown; index: number }

/** An invocation that the client waited for, or one that was read. */
export function answeredOf(result: unknown): AnsweredRun {
  const { receipt } = result as { receipt?: () => AnsweredRun }
  return receipt ? receipt() : (result as AnsweredRun)
}

/** The same, but refuses a response that a client has deleted. */
export function keptOf(result: unknown): AnsweredRun {
  const answered = answeredOf(result)
  if (answered.erased_at !== null) throw new ApiError('not_found', 'This response has been deleted.')
  return answered
}

/** Why the model's last answer stopped early, if it did. */
export function earlyFinish({ steps }: Pick<AnsweredRun, 'steps'>): 'length' | 'filtered' | undefined {
  return steps.findLast(({ kind }) => kind === 'model')?.finish
}

/** The arguments as JSON, in the model's own words if they were invalid. */
export function argumentsText({ arguments: given }: Pick<CallerCall, 'arguments'>): string {
  return typeof given === 'string' ? given : JSON.stringify(given)
}

export function seconds(ms: number): number {
  return Math.floor(ms / 1000)
}

/** An event of a stored answer that is sent again. */
export function stored(event: string, data: unknown): StreamEvent {
  return { id: '', event, data }
}
