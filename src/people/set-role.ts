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
  summary: 'Give a person a role, or take it away',
  description:
    'In this project, or in all. A role that is given here stands over those of groups until it is taken away. Keys that the person has made keep no more than the new role allows, also if it becomes larger again later. To give one takes a right that does not end by itself: neither a token, nor a key that expires, nor a secret that was replaced. The last administrator of the service stays: 409.',
  permission: 'manage',
  audit: { target: 'person_id' },
  mfa: 'keys',
  accessFields: ['role'],
  errors: ['conflict'],
  params: PersonParams,
  body: z
    .strictObject({
      role: Label(64).nullable().describe('A role of the configuration; null takes it away'),
      all_projects: z
        .boolean()
        .default(false)
        .describe('In all projects: an administrator of the service has admin there'),
    })
    .meta({ id: 'SetPersonRole' }),
  data: z.object({ ...PersonReply.shape, ...KeysLost }).meta({ id: 'PersonWithLostKeys' }),

  async run({ params, body }, needs: RoleNeeds) {
    const { db, actor, audit, config, newId, now, request_id } = needs
    const cause = { actor, audit, newId, request_id, address: null, now: now() }
    requireScope(actor, null)
    if (body.all_projects) requireService(actor)
    const { person } = await getInReach(db, actor, params.person_id)
    const project_id = body.all_projects ? null : actor.scope.project_id
    const present = (await listRoles(db, [person.id])).find((role) => role.project_id === project_id)
    const mayTake = present === undefined || actor.kind === 'local' || coversAll(actor.permissions, present.permissions)
    if (!mayTake) throw forbidden('You cannot change a role that may do more than you')

    let lost: LostKeys
    if (body.role === null) {
      if (!present) throw notFound('Role', person.id)
      if (present.role_source !== GRANTED) {
        throw conflict('This role comes from a group: take the person out of the group at the identity provider')
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
