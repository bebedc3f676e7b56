import type { Actor } from '../../operation/actor.ts'
import { requireFound } from '../../operation/scope.ts'
import type { Database } from '../../storage/database.ts'
import type { Invitation } from './invitation.ts'
import * as invitations from './invitation-store.ts'

/** An invitation of the actor's project, or one for all projects if the actor has access to all. */
export async function getInReach(db: Database, actor: Actor, id: string): Promise<Invitation> {
  const found = await invitations.find(db, id)
  return requireFound(actor, found && { ...found, agent_id: null }, { kind: 'Invitation', id })
}
