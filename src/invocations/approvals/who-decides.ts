import * as agents from '../../agents/store.ts'
import { getVersion } from '../../deployments/store.ts'
import * as keys from '../../keys/store.ts'
import type { Actor } from '../../operation/actor.ts'
import { covers } from '../../security/permissions.ts'
import type { Database } from '../../storage/database.ts'
import { listKept } from '../steps/step-store.ts'
import * as invocations from '../store.ts'
import type { Approval } from './approval.ts'

const NEEDS_PERMISSION = 'To decide takes a key with the permission approve: one of the role approver or admin'
const NEEDS_OTHER_KEY =
  'The key that started a run may not decide for it: use another key, or set approvals.self of the agent'
const NEEDS_OTHER_PERSON =
  'Those who started a run may not decide for it, nor the authors of its schedule, nor keys that they made: use the key of somebody else, or set approvals.self of the agent'

/** How far back the makers of a key are looked for. */
const MOST_MAKERS = 50

/** Why the actor may not decide, and who may. Undefined if it may. */
export async function whyNotDecide(db: Database, actor: Actor, approval: Approval): Promise<string | undefined> {
  return whyNot(db, actor, await makersOf(db, actor), approval)
}

async function whyNot(
  db: Database,
  actor: Actor,
  makers: ReadonlySet<string>,
  approval: Approval,
): Promise<string | undefined> {
  if (!covers(actor.permissions, 'approve')) return NEEDS_PERMISSION
  const refusal = await whyNotOther(db, actor, makers, approval)
  return refusal && (await mayStarterDecide(db, approval)) ? undefined : refusal
}

/** One person must have started, and another one decides. Says why the actor is not another one. */
async function whyNotOther(
  db: Database,
  actor: Actor,
  makers: ReadonlySet<string>,
  { started_by, agent_seq, request_id }: Approval,
): Promise<string | undefined> {
  if (actor.id === started_by) return NEEDS_OTHER_KEY
  const { authors, user_id } = await invocations.getBeginning(db, agent_seq, request_id)
  // A user may have several tokens. A key that starts runs for a user is somebody else.
  const isSameUser = started_by.startsWith('token:') && user_id !== null && actor.scope.user_id === user_id
  const isOfStarters = [started_by, ...authors].some((starter) => makers.has(starter))
  return isSameUser || isOfStarters ? NEEDS_OTHER_PERSON : undefined
}

/**
 * The actor, who made its key, who made that key, and so on. The host is left out: its operator makes keys for all
 * others.
 */
async function makersOf(db: Database, { id }: Actor): Promise<Set<string>> {
  const makers = new Set<string>()
  for (let next: string | undefined = id; next && next !== 'local' && makers.size < MOST_MAKERS; ) {
    makers.add(next)
    next = (await keys.find(db, next))?.created_by
  }
  return makers
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
  const makers = await makersOf(db, actor)
  for (const item of items) {
    const reason = item.status === 'pending' ? await whyNot(db, actor, makers, item) : undefined
    said.push({ ...item, not_for_you: reason ?? null })
  }
  return said
}
