import type { Agent } from '../../agents/agent.ts'
import { requireRunning } from '../../agents/agent-snapshot.ts'
import { servedNow } from '../../deployments/serving.ts'
import { sessionBusy } from '../../errors.ts'
import { newInvocation } from '../../invocations/invocation.ts'
import { enqueueRun } from '../../invocations/runs.ts'
import type { Actor } from '../../operation/actor.ts'
import type { Parts } from '../../operation/parts.ts'
import { requireRoom } from '../../projects/project.ts'
import * as projects from '../../projects/store.ts'
import type { Database } from '../../storage/database.ts'
import type { MailFiles } from '../mail/mail-files.ts'
import type { Trigger } from '../trigger.ts'
import type { ReadEvent } from './read-event.ts'

type TriggeredBy = {
  /** The files of a message, which are stored in the same transaction. */
  files?: MailFiles | undefined
  delivery_id: string
  request_id: string
  /** The run has this actor's permissions. */
  actor: Pick<Actor, 'id' | 'person_id'>
}

/**
 * Queues the run of an event, in the transaction that stores its delivery. It is an ordinary background run. Throws an
 * `ApiError` if no run can start now.
 */
export async function startRun(
  db: Database,
  { trigger, agent, event }: { trigger: Trigger; agent: Agent; event: ReadEvent },
  { actor, delivery_id, request_id, files }: TriggeredBy,
  { now, pauses }: Pick<Parts, 'now' | 'pauses'>,
): Promise<void> {
  requireRunning(agent, await pauses.find(agent.project_id, db))
  requireRoom(await projects.get(db, agent.project_id))
  const { environment, on_budget, priority, authors, id } = trigger
  const { message, user_id, session_id, conversation } = event
  const context = {
    ...(user_id !== null && { user_id }),
    ...(session_id !== null && { session_id }),
    trigger: { id, delivery_id, ...(conversation && { conversation }) },
  }
  const sender = { user_id: user_id ?? undefined, session_id: session_id ?? undefined, request_id }
  const served = await servedNow(db, agent, environment, sender)
  const way = { door: 'trigger', mode: 'background', now, repeatable: undefined } as const
  const asked = { message, context, environment, on_budget }
  const begun = newInvocation(asked, agent, served, { actor, request_id, ...way })
  const attachments = await files?.keep(db, { agent_id: agent.id, request_id, user_id, created_by: actor.id })
  const invocation = { ...begun, authors: JSON.stringify(authors), ...(attachments?.length && { attachments }) }
  const { definition } = served
  if (!(await enqueueRun(db, { invocation, agent, definition, priority }, now()))) throw sessionBusy()
}
