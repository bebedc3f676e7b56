import type { ChildName } from '../../runtime/outcome.ts'
import type { Database } from '../../storage/database.ts'
import type { Approval } from '../approvals/approval.ts'
import { listPending } from '../approvals/approval-store.ts'
import { listBelow } from './child-store.ts'

export type AwaitedApproval = Approval & { child?: ChildName }

/** What people must decide before a run continues: its own questions, and those of the runs that it has called. */
export async function listAwaited(db: Database, request_id: string): Promise<AwaitedApproval[]> {
  const below = await listBelow(db, request_id)
  const pending = await listPending(db, [request_id, ...below.map(({ id }) => id)])
  const others = pending.filter((approval) => approval.request_id !== request_id)
  if (others.length === 0) return pending
  const seqs = others.map(({ agent_seq }) => agent_seq)
  const rows = await db.selectFrom('agents').select(['seq', 'id', 'name']).where('seq', 'in', seqs).execute()
  const named = new Map(rows.map(({ seq, id, name }) => [seq, { agent_id: id, agent: name }]))
  return pending.map((approval) => {
    const agent = approval.request_id === request_id ? undefined : named.get(approval.agent_seq)
    return agent ? { ...approval, child: { request_id: approval.request_id, ...agent } } : approval
  })
}
