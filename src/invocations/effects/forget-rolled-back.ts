import * as deployments from '../../deployments/store.ts'
import { removeOfDeployment } from '../../memory/upkeep-store.ts'
import type { Database } from '../../storage/database.ts'

/** Another node may still admit runs for this long, until it learns of the rollback. */
const LEARNS_WITHIN_MS = 60_000

/**
 * Removes up to `limit` memories that runs of a rolled-back deployment have written, if the rollback asked for it.
 * Further calls remove more until no run of the deployment is unfinished. Call this in a transaction.
 */
export async function forgetRolledBack(db: Database, limit: number, now: number): Promise<number> {
  for (const { id, agent_seq, forgetting } of await deployments.listForgetting(db)) {
    // Checked before the memories are read: a run that ends in between has then written its memories already.
    const mayWriteMore = now < (forgetting ?? 0) + LEARNS_WITHIN_MS || (await hasUnfinished(db, agent_seq, id))
    const removed = await removeOfDeployment(db, { agent_seq, deployment_id: id }, limit)
    if (removed > 0) {
      await deployments.recordForgotten(db, id, removed)
      return removed
    }
    if (!mayWriteMore) await deployments.recordForgotten(db, id, 'all')
  }
  return 0
}

async function hasUnfinished(db: Database, agent_seq: number, deployment_id: string): Promise<boolean> {
  const run = await db
    .selectFrom('runs')
    .select('id')
    .where('agent_seq', '=', agent_seq)
    .where('deployment_id', '=', deployment_id)
    .limit(1)
    .executeTakeFirst()
  return run !== undefined
}
