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
  summary: 'Delete a person',
  description:
    "Deletes the person with their roles, personal keys and sessions, immediately. Their name and email address are erased; their ID stays in the audit log. If an identity provider still knows the person, they can sign in again with the same ID and the roles of their groups. Webhooks and service keys that they created belong to the project and keep working; the reply lists them for review. Requires access to all projects. The last service administrator can't be deleted: 409.",
  access: { permission: 'manage', reach: 'service' },
  mfa: { policy: 'keys' },
  audit: { target: 'person_id' },
  input: { params: PersonParams },
  answer: {
    data: z
      .object({
        id: z.string(),
        deleted: z.literal(true),
        revoked_keys: z.array(z.string()).describe('Their personal keys, which no longer work'),
        kept_keys: z.array(z.string()).describe('Service keys they created, which keep working'),
        kept_webhooks: z.array(z.string()).describe('Webhooks they created, which keep working'),
      })
      .meta({ id: 'RemovedPerson' }),
    errors: ['conflict'],
  },

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
    // What the person started is still known as theirs, but without their name.
    await roleKeys.renameRoles(db, person.id, person.id)
    await people.remove(db, person.id)
    // The IDs of their sessions aren't known here, so every node drops all of them.
    await announce(db, 'keys')
    return { id: person.id, deleted: true as const, revoked_keys, kept_keys, kept_webhooks }
  },
})
