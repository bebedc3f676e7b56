import type { Database } from '../../../src/storage/database.ts'
import { endOtherConnections } from '../stores/other-connections.ts'

/**
 * Acts as if half a minute had passed since a process was killed, so its leases of runs and Idempotency-Keys have
 * ended. SQLite doesn't need this, because the next service knows that the previous one is dead.
 */
export async function endLeases(db: Database): Promise<void> {
  await endOtherConnections(db)
  await db.updateTable('runs').set({ lease_until: 0 }).where('status', '=', 'running').execute()
  await db.updateTable('claims').set({ lease_until: 0 }).execute()
}
