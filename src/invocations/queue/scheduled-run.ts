import type { Agent } from '../../agents/agent.ts'
import { serving } from '../../deployments/serving.ts'
import type { Door } from '../../operation/door.ts'
import type { Parts } from '../../operation/parts.ts'
import type { Write } from '../../storage/journal/rows.ts'
import { type Asked, type Invocation, newInvocation } from '../invocation.ts'
import { insertionScheduled } from '../rows/invocation-rows.ts'

/** Who begins the run of a schedule, through which door, and for which of its ticks. */
type ScheduledBy = {
  request_id: string
  created_by: string
  door: Door
  schedule_id: string
  scheduled_at: number | null
}

/** A run of a schedule for the queue, and its row for the journal. It is an ordinary run in the background. */
export async function scheduledRun(
  asked: Asked,
  agent: Agent,
  { request_id, created_by, door, schedule_id, scheduled_at }: ScheduledBy,
  parts: Parts,
): Promise<{ invocation: Invocation; write: Write }> {
  const served = await serving(agent, asked.environment, parts)
  const way = { door, mode: 'background', now: parts.now, repeatable: undefined } as const
  const begun = newInvocation(asked, agent, served, { actor: { id: created_by }, request_id, ...way })
  const invocation = { ...begun, schedule_id, scheduled_at }
  return { invocation, write: insertionScheduled(invocation) }
}
