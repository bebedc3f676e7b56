import * as agents from '../../agents/store.ts'
import { getVersion } from '../../deployments/store.ts'
import type { Actor } from '../../operation/actor.ts'
import { covers } from '../../security/permissions.ts'
import type { Database } from '../../storage/database.ts'
import { listKept } from '../steps/step-store.ts'
import * as invocations from '../store.ts'
import type { Approval } from './approval.ts'

const NEEDS_PERMISSION = 'To decide takes a key with the permission approve: one of the role approver or admin'
const NEEDS_OTHER_KEY =
  'The key that started a run may not decide for it: use another key, or set approvals.self of the agent'

/** Why the actor may not decide, and who may. Undefined if it may. */
export async function whyNotDecide(db: Database, actor: Actor, approval: Approval): Promise<string | undefined> {
  if (!covers(actor.permissions, 'approve')) return NEEDS_PERMISSION
  if (actor.id !== approval.started_by) return undefined
  return (await mayStarterDecide(db, approval)) ? undefined : NEEDS_OTHER_KEY
}

/** What the run began with says so, not what the agent says now. */
async function mayStarterDecide(db: Database, { agent_seq, request_id }: Approval): Promise<boolean> {
  const { id, version } = await invocations.get(db, agent_seq, request_id)
  const agent = await agents.findBySeq(db, agent_seq)
  if (!agent) return false
  const kept = version === null ? (await listKept(db, id)).definition : undefined
  const { approvals } = version === null ? (kept ?? agent) : (await getVersion(db, agent.id, version)).definition
  return approvals.self
}

/** Says beside each approval why the actor may not decide it. What is decided already is not asked about. */
export async function withWhyNot<Item extends Approval>(
  db: Database,
  actor: Actor,
  items: readonly Item[],
): Promise<(Item & { not_for_you: string | null })[]> {
  const said: (Item & { not_for_you: string | null })[] = []
  for (const item of items) {
    const reason = item.status === 'pending' ? await whyNotDecide(db, actor, item) : undefined
    said.push({ ...item, not_for_you: reason ?? null })
  }
  return said
}
