import type { Agent, ModelAgent } from '../../agents/agent.ts'
import { hasModel } from '../../agents/definition.ts'
import * as agents from '../../agents/store.ts'
import type { Parts } from '../../operation/parts.ts'
import type { Conversation } from '../../operation/recall.ts'
import type { Database } from '../../storage/database.ts'
import type { JobHandler } from '../../storage/jobs/job-handler.ts'

/** How long the model isn't asked about a session again after a failure. */
const PAUSE_MS = 3_600_000

/** Work on sessions that is done by the agents' own models. */
type SessionWork<Session extends Conversation> = {
  every_ms: number
  wants: (agent: ModelAgent) => boolean
  listDue: (agent: ModelAgent) => Promise<Session[]>
  /** Does the work. Returns why it failed, or undefined. */
  work: (agent: ModelAgent, session: Session, signal: AbortSignal) => Promise<string | undefined>
  /** What is logged about a session whose work failed. */
  failed: string
  /** The column that says when the work is tried again after a failure. `listDue` leaves the session out until then. */
  putOff: PutOff
}

/**
 * A recurring job. For every running agent, it does the work for the sessions that are due, one after the other.
 * Projects take turns.
 */
export function sessionJob<Session extends Conversation>(
  { storage, log, now, pauses }: Pick<Parts, 'storage' | 'log' | 'now' | 'pauses'>,
  { every_ms, wants, listDue, work, failed, putOff: column }: SessionWork<Session>,
): JobHandler {
  return {
    every_ms,
    async run(signal) {
      for await (const { agent, session } of listAllDue()) {
        if (signal.aborted) return
        if (await pauses.find(agent.project_id)) continue
        const problem = await work(agent, session, signal)
        if (problem === undefined) continue
        await putOff(storage.db, session, column, now() + PAUSE_MS)
        log.warn({ agent: agent.id, problem }, `${failed} and will be retried in an hour`)
      }
    },
  }

  async function* listAllDue() {
    const isDue = (agent: Agent) => agent.status === 'running' && hasModel(agent) && wants(agent)
    const due = (await agents.listWithMemory(storage.db, isDue)).filter(hasModel)
    const projects = [...Map.groupBy(due, ({ project_id }) => project_id).values()].map(listDueOf)
    while (projects.length > 0) {
      const project = projects.shift() as (typeof projects)[number]
      const { done, value } = await project.next()
      if (done) continue
      yield value
      projects.push(project)
    }
  }

  async function* listDueOf(agentsOfProject: readonly ModelAgent[]) {
    for (const agent of agentsOfProject) for (const session of await listDue(agent)) yield { agent, session }
  }
}

/**
 * The columns with the time before which a session's work isn't tried again. Lists of due sessions leave it out until
 * then.
 */
type PutOff = 'facts_after' | 'summary_after'

async function putOff(db: Database, session: Conversation, column: PutOff, until: number): Promise<void> {
  await db
    .updateTable('memory_scopes')
    .set({ [column]: until })
    .where('agent_seq', '=', session.agent_seq)
    .where('level', '=', 2)
    .where('user_id', '=', session.user_id ?? '')
    .where('session_id', '=', session.session_id ?? '')
    .execute()
}
