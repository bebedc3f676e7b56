import { z } from 'zod'
import * as roleKeys from '../keys/personal/role-store.ts'
import type { Needs } from '../operation/context.ts'
import { operation } from '../operation.ts'
import { announce } from '../storage/database.ts'
import * as webhooks from '../webhooks/store.ts'
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
    "With their roles, their own keys and their sessions, at once. Their name and address are erased; their id stays in the audit log. A person for whom an identity provider still vouches can sign in again, has the same id, and has what their groups give. Webhooks and keys of services that they have made are the project's and go on: the reply names them, to be looked through. Takes an actor of all projects. The last administrator of the service stays: 409.",
  permission: 'manage',
  reach: 'service',
  audit: { target: 'person_id' },
  mfa: 'keys',
  errors: ['conflict'],
  params: PersonParams,
  data: z
    .object({
      id: z.string(),
      deleted: z.literal(true),
      revoked_keys: z.array(z.string()).describe('Keys of theirs that have ended'),
      kept_keys: z.array(z.string()).describe('Keys of services that they have made, and that go on'),
      kept_webhooks: z.array(z.string()).describe('Webhooks that they have made, and that go on'),
    })
    .meta({ id: 'RemovedPerson' }),

  async run({ params }, needs: Needs<'db' | 'actor' | 'audit' | 'now' | 'request_id'>) {
    const { db, actor, audit, now, request_id } = needs
    const { person, roles } = await getInReach(db, actor, params.person_id)
    const revoked_keys: string[] = []
    for (const role of roles) {
      await requireOtherAdministrator(db, role, now())
      const lost = await endRole(db, role, { actor, audit, request_id, address: null, now: now() })
      revoked_keys.push(...lost.revoked_keys)
    }
    const makers = await roleKeys.listIdsOf(db, person.id)
    const kept_keys = await roleKeys.listServiceKeysBy(db, makers)
    const kept_webhooks = await webhooks.listMadeBy(db, makers)
    // What the person began is still known as theirs, but not by their name.
    await roleKeys.renameRoles(db, person.id, person.id)
    await people.remove(db, person.id)
    // The ids of their sessions are not known here, so every node forgets all of them.
    await announce(db, 'keys')
    return { id: person.id, deleted: true as const, revoked_keys, kept_keys, kept_webhooks }
  },
})
