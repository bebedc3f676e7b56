import { announce, type Database } from '../../storage/database.ts'
import { writeRows } from '../../storage/journal/write-rows.ts'
import type { Invocation } from '../invocation.ts'
import { insertion } from '../rows/invocation-rows.ts'

/** Queues a run in the caller's transaction. All nodes hear of it when that commits. */
export async function enqueueRun(db: Database, invocation: Invocation): Promise<void> {
  await writeRows(db, [insertion(invocation)])
  await announce(db, 'queue', String(invocation.agent_seq))
}
