import { findActive } from '../../connections/grants/grant-store.ts'
import * as connections from '../../connections/store.ts'
import type { Database } from '../../storage/database.ts'
import { lock } from '../queue/queue-store.ts'
import { queueWaiting } from '../queue/waiting-store.ts'
import { findApproval, listConnected, listPending, settleApproval } from './approval-store.ts'

const SETTLED_AT_ONCE = 200

/**
 * Queues runs whose users have signed in. It depends only on what is stored, so it doesn't matter whether the run began
 * to wait before or after the sign-in was confirmed. Returns how many approvals it has settled.
 */
export async function settleConnected(db: Database, now: number): Promise<number> {
  const connected = await listConnected(db, SETTLED_AT_ONCE)
  for (const { agent_seq, request_id, call_id } of connected) {
    await lock(db, agent_seq, request_id)
    const approval = await findApproval(db, request_id, call_id)
    if (approval?.status !== 'pending' || approval.connection_id === null || approval.holder === null) continue
    const { connection_id, holder } = approval
    const grant = await findActive(db, { connection_id, holder })
    if (grant?.id === approval.grant_id) continue
    // The sign-in has ended since it was listed.
    if (!grant && (await connections.findById(db, connection_id))) continue
    const how = grant
      ? { status: 'approved' as const, by: grant.confirmed_by }
      : { status: 'rejected' as const, by: null, note: 'the connection was deleted' }
    await settleApproval(db, approval, { ...how, at: now })
    if ((await listPending(db, [request_id])).length === 0) await queueWaiting(db, request_id)
  }
  return connected.length
}
