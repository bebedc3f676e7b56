import * as agents from '../../agents/store.ts'
import { getVersion } from '../../deployments/store.ts'
import { APPLICATION_KEY } from '../../keys/key.ts'
import * as keys from '../../keys/store.ts'
import type { Actor } from '../../operation/actor.ts'
import { covers } from '../../security/permissions.ts'
import type { Database } from '../../storage/database.ts'
import { listKept } from '../steps/step-store.ts'
import * as invocations from '../store.ts'
import type { Approval } from './approval.ts'

const NEEDS_PERMISSION = 'Deciding requires the permission `approve`. Use a key with the role `approver` or `admin`.'
/** A person who works alone has no second key that could decide. */
const OR_SELF = "or set the agent's `approvals.self` to true to allow this in its next runs (docs/approvals.md#decide)"
const NEEDS_OTHER_KEY = `The key that started a run can't decide on its approvals. Use a key that wasn't created with that key, ${OR_SELF}.`
const NEEDS_OTHER_PERSON = `The person who started the run, or who set up its schedule or trigger, can't decide on its approvals. The same applies to keys that this person created or rotated, and to anyone who created or rotated this person's keys. Use another person's key, ${OR_SELF}.`
const NEEDS_FEWER_MAKERS = `The chain of keys and people that created your key, or the key that started the run, is longer than 50, which is too long to check. Use a key created on the server with --local, ${OR_SELF}.`

/** At most this many makers are looked up for a key. */
const MOST_MAKERS = 50

/** The makers of keys that one request has looked up so far. */
type KnownMakers = Map<string, ReadonlySet<string>>

/** Why the actor may not decide, and who may. Undefined if it may. */
export async function whyNotDecide(db: Database, actor: Actor, approval: Approval): Promise<string | undefined> {
  return whyNot(db, actor, new Map(), approval)
}

async function whyNot(db: Database, actor: Actor, known: KnownMakers, approval: Approval): Promise<string | undefined> {
  if (!covers(actor.permissions, 'approve')) return NEEDS_PERMISSION
  // Approving it only checks again whether the user has signed in.
  if (approval.kind === 'connection') return undefined
  const refusal = await whyNotOther(db, actor, known, approval)
  return refusal && (await mayStarterDecide(db, approval)) ? undefined : refusal
}

/**
 * The person who decides must not be the person who started the run. Returns the reason why the actor could be the same
 * person.
 */
async function whyNotOther(
  db: Database,
  actor: Actor,
  known: KnownMakers,
  { started_by, agent_seq, request_id }: Approval,
): Promise<string | undefined> {
  if (actor.id === started_by) return NEEDS_OTHER_KEY
  const { authors, user_id } = await invocations.getBeginning(db, agent_seq, request_id)
  // A user may have several tokens. A key that starts runs for a user is not that user.
  const isSameUser = started_by.startsWith('token:') && user_id !== null && actor.scope.user_id === user_id
  if (isSameUser) return NEEDS_OTHER_PERSON
  const makers = await makersOf(db, actor.id, known)
  for (const starter of [started_by, ...authors]) {
    const behind = await makersOf(db, starter, known)
    if (makers.has(starter) || behind.has(actor.id) || isSamePerson(makers, behind)) return NEEDS_OTHER_PERSON
    if (Math.max(makers.size, behind.size) > MOST_MAKERS) return NEEDS_FEWER_MAKERS
  }
  return undefined
}

/**
 * The owner of the ID, those who created its key or last rotated it, the makers of those keys, and so on. Each of them
 * can know the key's secret. `local` is left out, because the operator creates keys for everyone on the server. At most
 * `MOST_MAKERS` are looked up.
 */
async function makersOf(db: Database, id: string, known: KnownMakers): Promise<ReadonlySet<string>> {
  const found = known.get(id)
  if (found) return found
  const makers = new Set(id === 'local' ? [] : [id])
  // The loop also visits the makers that it adds to the set.
  for (const next of makers) {
    if (makers.size > MOST_MAKERS) break
    const key = await keys.find(db, next)
    // A role has no secret that the person who granted it could know.
    const hasMakers = key?.role_source === null || key?.role_source === APPLICATION_KEY
    const givers = hasMakers ? [key.created_by, key.rotated_by] : []
    for (const maker of [...givers, key?.person_id]) if (maker && maker !== 'local') makers.add(maker)
  }
  known.set(id, makers)
  return makers
}

/** A person can have several roles and keys. */
function isSamePerson(makers: ReadonlySet<string>, behind: ReadonlySet<string>): boolean {
  return [...makers].some((maker) => maker.startsWith('prs_') && behind.has(maker))
}

/** The definition with which the run began decides this, not the agent's current one. */
async function mayStarterDecide(db: Database, { agent_seq, request_id }: Approval): Promise<boolean> {
  const { id, version } = await invocations.get(db, agent_seq, request_id)
  const agent = await agents.findBySeq(db, agent_seq)
  if (!agent) return false
  const kept = version === null ? (await listKept(db, id)).definition : undefined
  const { approvals } = version === null ? (kept ?? agent) : (await getVersion(db, agent.id, version)).definition
  return approvals.self
}

/** Adds to each approval why the actor can't decide it, except if it's already decided. */
export async function withWhyNot<Item extends Approval>(
  db: Database,
  actor: Actor,
  items: readonly Item[],
): Promise<(Item & { not_for_you: string | null })[]> {
  const said: (Item & { not_for_you: string | null })[] = []
  const known: KnownMakers = new Map()
  for (const item of items) {
    const reason = item.status === 'pending' ? await whyNot(db, actor, known, item) : undefined
    said.push({ ...item, not_for_you: reason ?? null })
  }
  return said
}
