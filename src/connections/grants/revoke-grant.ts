import { z } from 'zod'
import { notFound } from '../../errors.ts'
import { requirePermission } from '../../operation/actor.ts'
import { requireUser, requireWholeProject } from '../../operation/scope.ts'
import { operation } from '../../operation.ts'
import { PROJECT } from '../connection.ts'
import * as connections from '../store.ts'
import { endGrants, revokeAtProvider } from './end-grants.ts'
import * as grants from './grant-store.ts'

export const revokeGrant = operation({
  id: 'revokeGrant',
  method: 'DELETE',
  path: '/v1/connections/{name}/grants/{user_id}',
  summary: "Revoke a user's grant",
  description:
    "Ends the user's sign-in, here and at the provider if it supports revocation and responds. If the connection has `as: service`, use `service` as the user ID; this requires the permission `manage`.",
  access: { permission: 'invoke', userTokens: true },
  audit: { target: ['name', 'user_id'] },
  transaction: false,
  input: { params: z.strictObject({ name: z.string(), user_id: z.string() }) },
  answer: { data: z.object({ connection: z.string(), user_id: z.string().nullable(), revoked: z.literal(true) }) },

  async run({ params: { name, user_id } }, { db, actor, connectionProviders, events, keyring, log, now, storage }) {
    const connection = await connections.get(db, { project_id: actor.scope.project_id, name })
    const isOfProject = connection.acts_as === 'service'
    if (isOfProject) {
      requirePermission(actor, 'manage')
      requireWholeProject(actor, 'connections')
    } else requireUser(actor, user_id)
    const which = { connection_id: connection.id, holder: isOfProject ? PROJECT : user_id }
    const inUse = await grants.listInUse(db, which)
    if (inUse.length === 0) throw notFound('Grant', user_id)
    await revokeAtProvider(inUse, connection, { connectionProviders, keyring, log })
    await storage.transaction(async (held) => {
      const ended = await grants.listInUse(held, which)
      await endGrants(held, ended, connection, { reason: 'revoked', time: now() }, { events })
    })
    return { connection: name, user_id: isOfProject ? null : user_id, revoked: true as const }
  },
})
