import { z } from 'zod'
import * as roleKeys from '../keys/personal/role-store.ts'
import type { Needs } from '../operation/context.ts'
import { operation } from '../operation.ts'
import { announce } from '../storage/database.ts'
import { PersonParams } from './person.ts'
import { getInReach } from './person-in-reach.ts'
import { endRole, requireOtherAdministrator } from './roles.ts'
import * as people from './store.ts'

export const deletePerson = operation({
  id: 'deletePerson',
  method: 'DELETE',
  path: '/v1/people/{person_id}',
  summary: 'Remove a person',
  description:
    'With their roles, their own keys and their sessions, at once. Their name and address are erased; their id stays in the audit log. Somebody whom an identity provider still vouches for can sign in again, has the same id, and has what their groups give. Takes an actor of all projects. The last administrator of the service stays: 409.',
  permission: 'manage',
  reach: 'service',
  audit: { target: 'person_id' },
  mfa: 'keys',
  errors: ['conflict'],
  params: PersonParams,
  data: z.object({ id: z.string(), deleted: z.literal(true) }),

  async run({ params }, { db, actor, now }: Needs<'db' | 'actor' | 'now'>) {
    const { person, roles } = await getInReach(db, actor, params.person_id)
    for (const role of roles) {
      await requireOtherAdministrator(db, role, now())
      await endRole(db, role, now())
    }
    // What the person began is still known as theirs, but not by their name.
    await roleKeys.renameRoles(db, person.id, person.id)
    await people.remove(db, person.id)
    // The ids of their sessions are not known here, so every node forgets all of them.
    await announce(db, 'keys')
    return { id: person.id, deleted: true as const }
  },
})
