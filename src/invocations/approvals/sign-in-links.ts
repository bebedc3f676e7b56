import type { Actor } from '../../operation/actor.ts'
import type { Needs } from '../../operation/context.ts'
import type { SignInLink } from '../../runtime/tools/connections/connected.ts'
import { covers } from '../../security/permissions.ts'
import type { Approval } from './approval.ts'
import { setLink } from './approval-store.ts'

type LinkNeeds = Needs<'connections' | 'storage'>

/**
 * Adds to each approval that waits for a sign-in where the user signs in: with the link that it has, or with a fresh one
 * if that has expired. The project's own sign-in is for those who manage the project.
 */
export async function withSignInLinks<Asked extends Approval>(
  approvals: readonly Asked[],
  { connections, storage }: LinkNeeds,
  actor?: Actor,
): Promise<Asked[]> {
  if (approvals.every(({ connection_id }) => connection_id === null)) return [...approvals]
  const isForProject = actor !== undefined && covers(actor.permissions, 'manage') && actor.scope.agent_id === null
  const known = new Map<string, SignInLink>()
  const shown: Asked[] = []
  for (const approval of approvals) {
    const { connection_id, holder, link_id, status } = approval
    if (connection_id === null || holder === null) {
      shown.push(approval)
      continue
    }
    const place = `${connection_id} ${holder}`
    const link =
      known.get(place) ??
      (await connections.link(
        { connection_id, holder },
        { known: link_id, isForProject, isOver: status !== 'pending' },
      ))
    known.set(place, link)
    if (link.link_id !== link_id && link.link_id !== null) await setLink(storage.db, approval.id, link.link_id)
    shown.push({ ...approval, connection: link })
  }
  return shown
}
