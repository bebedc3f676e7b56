import { z } from 'zod'
import { type Agent, AgentParams } from '../../agents/agent.ts'
import * as agents from '../../agents/store.ts'
import type { Needs } from '../../operation/context.ts'
import { operation } from '../../operation.ts'
import { readable } from '../../storage/damaged-rows.ts'
import { enqueue } from '../../storage/jobs/jobs.ts'
import { endEvent } from '../effects/effects.ts'
import { CANCELLED, endWith } from '../invocation.ts'
import { fromRun } from '../rows/invocation-rows.ts'
import { withKept } from '../steps/kept-steps.ts'
import { listKeptRows, readKept } from '../steps/step-store.ts'
import * as invocations from '../store.ts'

export const deleteAgent = operation({
  id: 'deleteAgent',
  method: 'DELETE',
  path: '/v1/agents/{agent_id}',
  summary: 'Delete an agent',
  description:
    'Cancels the active runs of the agent, and sends the event `agent.cancelled` for up to 500 of them. Then deletes the agent with its deployments, invocations, memory, logs, schedules, triggers and links, and everything that is limited to it: keys, webhooks and budgets.',
  access: { permission: 'delete', userTokens: true },
  audit: { target: 'agent_id' },
  input: { params: AgentParams },
  answer: { data: z.object({ id: z.string(), deleted: z.literal(true) }) },

  async run({ params }, { db, events, newId, now }) {
    const agent = await agents.lock(db, params.agent_id)
    await cancelActive(agent, { db, events, now })
    await agents.remove(db, params.agent_id)
    // Its logs, metrics and memory can no longer be reached. There may be many, so they are removed in the background.
    await enqueue(db, { id: newId('job', now()), kind: 'purge', run_at: now() })
    return { id: params.agent_id, deleted: true as const }
  },
})

/** More would keep other writers waiting. The rest is removed in the background, without events. */
const MOST_CANCELLED = 500

/** A node that is running one of them can't store its end any more, so each run has exactly one event. */
async function cancelActive(agent: Agent, { db, events, now }: Needs<'db' | 'events' | 'now'>): Promise<void> {
  const time = now()
  const active = await invocations.lockActive(db, agent.seq, MOST_CANCELLED)
  if (active.length === 0) return
  const ids = active.map(({ id }) => id)
  const kept = await listKeptRows(db, ids)
  const cancelled = readable(db, active, (row) => {
    const { steps } = readKept(kept.get(row.id) ?? [])
    return endWith(withKept(fromRun(row), steps), 'cancelled', CANCELLED, time)
  })
  await invocations.removeRuns(db, ids, time)
  for (const invocation of cancelled) await events.emit(db, endEvent(invocation, agent))
}
