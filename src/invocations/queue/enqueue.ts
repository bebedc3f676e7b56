import type { Agent } from '../../agents/agent.ts'
import { laneKey } from '../../lib/work/lane-key.ts'
import { announce, type Database } from '../../storage/database.ts'
import { writeRows } from '../../storage/journal/write-rows.ts'
import type { Invocation } from '../invocation.ts'
import { insertion } from '../rows/invocation-rows.ts'
import { queueWaitingForBudgets } from './waiting-store.ts'

/** Queues a run in the caller's transaction. All nodes hear of it when that commits. */
export async function enqueueRun(db: Database, invocation: Invocation, agent: Agent): Promise<void> {
  await writeRows(db, [insertion(invocation, agent.project_id)])
  await announceQueued(db, agent)
}

/** The runs of an agent move with it. Other budgets may be over it then, so those that wait for one go on. */
export async function moveRuns(db: Database, agent: Agent): Promise<void> {
  await db.updateTable('runs').set({ project_id: agent.project_id }).where('agent_seq', '=', agent.seq).execute()
  await queueWaitingForBudgets(db, agent.seq)
  await announceQueued(db, agent)
}

export function announceQueued(db: Database, { project_id, seq }: Agent): Promise<void> {
  return announce(db, 'queue', laneKey(project_id, seq))
}
