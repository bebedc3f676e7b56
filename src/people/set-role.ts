import { z } from 'zod'
import { conflict, forbidden, notFound } from '../errors.ts'
import { defaultTierFor } from '../keys/key-tiers.ts'
import type { Needs } from '../operation/context.ts'
import { requireScope, requireService } from '../operation/scope.ts'
import { operation } from '../operation.ts'
import { coversAll } from '../security/permissions.ts'
import { Label } from '../shapes.ts'
import { GRANTED, KeysLost, PersonParams, PersonReply, presentPerson } from './person.ts'
import { getInReach, rolesShown } from './person-in-reach.ts'
import { endRole, giveRole, type LostKeys, listRoles, permissionsToGive, requireOtherAdministrator } from './roles.ts'
import * as people from './store.ts'

type RoleNeeds = Needs<'db' | 'actor' | 'audit' | 'config' | 'newId' | 'now' | 'request_id'>

export const setPersonRole = operation({
  id: 'setPersonRole',
  method: 'PUT',
  path: '/v1/people/{person_id}/role',
  summary: "Set or remove a person's role",
  description:
    "Sets the person's role in this project, or in all projects. A role set here overrides roles from groups until it is removed. Keys that the person created lose the permissions that the new role doesn't have, and don't get them back later. Tokens, keys that expire and rotated secrets can't grant roles. The last service administrator's role can't be removed: 409.",
  access: { permission: 'manage' },
  mfa: { policy: 'keys', accessFields: ['role'] },
  audit: { target: 'person_id' },
  input: {
    params: PersonParams,
    body: z
      .strictObject({
        role: Label(64)
          .nullable()
          .describe(
            '`admin`, `developer`, `viewer`, `caller`, or a role from the configuration. null: remove the role',
          ),
        all_projects: z
          .boolean()
          .default(false)
          .describe('In all projects. A service administrator has the role admin in all projects'),
      })
      .meta({ id: 'SetPersonRole' }),
  },
  answer: {
    data: z.object({ ...PersonReply.shape, ...KeysLost }).meta({ id: 'PersonWithLostKeys' }),
    errors: ['conflict'],
  },

  async run({ params, body }, needs: RoleNeeds) {
    const { db, actor, audit, config, newId, now, request_id } = needs
    const cause = { actor, audit, newId, request_id, address: null, now: now() }
    requireScope(actor, null)
    if (body.all_projects) requireService(actor)
    const { person } = await getInReach(db, actor, params.person_id)
    const project_id = body.all_projects ? null : actor.scope.project_id
    const present = (await listRoles(db, [person.id])).find((role) => role.project_id === project_id)
    const mayTake = present === undefined || actor.kind === 'local' || coversAll(actor.permissions, present.permissions)
    if (!mayTake) throw forbidden("You can't change a role that has more permissions than yours.")

    let lost: LostKeys
    if (body.role === null) {
      if (!present) throw notFound('Role', person.id)
      if (present.role_source !== GRANTED) {
        throw conflict('This role comes from a group. Remove the person from the group in the identity provider.')
      }
      await requireOtherAdministrator(db, present, now())
      lost = await endRole(db, present, cause)
    } else {
      const permissions = permissionsToGive(actor, body.role, config)
      if (present && !permissions.includes('manage')) await requireOtherAdministrator(db, present, now())
      const tier = defaultTierFor(actor, config.limits)
      const given = { role: body.role, permissions, source: GRANTED, tier, by: actor.id }
      lost = await giveRole(db, person, { project_id, ...given }, cause)
    }
    const roles = rolesShown(actor, await listRoles(db, [person.id]))
    return { ...presentPerson(person, await people.listIdentities(db, [person.id]), roles), ...lost }
  },
})
