import type { Database } from '../../../src/storage/database.ts'
import { endOtherConnections } from '../stores/other-connections.ts'

/**
 * Half a minute passes after a process was killed: its leases of runs and Idempotency-Keys end. SQLite does not need this,
 * because the next service knows that the one before it is dead.
 */
export async function endLeases(db: Database): Promise<void> {
  await endOtherConnections(db)
  await db.updateTable('runs').set({ lease_until: 0 }).where('status', '=', 'running').execute()
  await db.updateTable('claims').set({ lease_until: 0 }).execute()
}
