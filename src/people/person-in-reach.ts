import { notFound } from '../errors.ts'
import type { Actor } from '../operation/actor.ts'
import { requireScope } from '../operation/scope.ts'
import type { Database } from '../storage/database.ts'
import type { Person, Role } from './person.ts'
import { listRoles } from './roles.ts'
import * as people from './store.ts'

/** A person, with the roles that the actor may see. In a project, people without a role there don't exist. */
export async function getInReach(db: Database, actor: Actor, id: string): Promise<{ person: Person; roles: Role[] }> {
  requireScope(actor, null)
  const person = await people.find(db, id)
  const roles = person ? rolesShown(actor, await listRoles(db, [id])) : []
  if (!person || (actor.reach === 'project' && roles.length === 0)) throw notFound('Person', id)
  return { person, roles }
}

export function rolesShown({ reach, scope }: Actor, roles: readonly Role[]): Role[] {
  return roles.filter(({ project_id }) => reach === 'service' || project_id === scope.project_id)
}
