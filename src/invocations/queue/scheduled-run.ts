import type { Agent } from '../../agents/agent.ts'
import type { Definition } from '../../agents/definition.ts'
import { servedNow } from '../../deployments/serving.ts'
import type { Actor } from '../../operation/actor.ts'
import type { Door } from '../../operation/door.ts'
import { type Attachment, notShown } from '../../runtime/attachments/attachment.ts'
import type { Database } from '../../storage/database.ts'
import { type Invocation, type InvokeBody, newInvocation, type Priority } from '../invocation.ts'

/** What a schedule sends to its agent. The files are already stored. */
type ScheduledAsk = Omit<InvokeBody, 'attachments' | 'priority'> & {
  attachments: readonly Attachment[]
  priority: Priority
}

/** Who starts a schedule's run, through which channel, and for which tick. */
type ScheduledBy = {
  request_id: string
  actor: Pick<Actor, 'id' | 'person_id'>
  authors: readonly string[]
  door: Door
  schedule_id: string
  scheduled_at: number | null
}

/** A schedule's run, as an ordinary background run for the queue. */
export async function scheduledRun(
  asked: ScheduledAsk,
  agent: Agent,
  { request_id, actor, authors, door, schedule_id, scheduled_at }: ScheduledBy,
  { db, now }: { db: Database; now: () => number },
): Promise<{ invocation: Invocation; definition: Definition; priority: Priority }> {
  const { user_id, session_id } = asked.context
  const served = await servedNow(db, agent, asked.environment, { user_id, session_id, request_id })
  const way = { door, mode: 'background', now, repeatable: undefined } as const
  const { attachments, priority, ...words } = asked
  const begun = newInvocation(words, agent, served, { actor, request_id, ...way })
  const shown = attachments.length > 0 ? attachments.map(notShown) : null
  const origin = { schedule_id, scheduled_at, authors: JSON.stringify(authors) }
  return { invocation: { ...begun, ...origin, attachments: shown }, definition: served.definition, priority }
}
