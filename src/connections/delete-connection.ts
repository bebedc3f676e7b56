import { z } from 'zod'
import { requireWholeProject } from '../operation/scope.ts'
import { operation } from '../operation.ts'
import { announce } from '../storage/database.ts'
import { ConnectionParams } from './connection.ts'
import { endGrants, revokeAtProvider } from './grants/end-grants.ts'
import * as grants from './grants/grant-store.ts'
import * as connections from './store.ts'

export const deleteConnection = operation({
  id: 'deleteConnection',
  method: 'DELETE',
  path: '/v1/connections/{name}',
  summary: 'Delete a connection',
  description:
    'Ends every sign-in, here and at the provider if it supports revocation and responds. Tools that use the connection fail from their next call on, and runs that wait for a sign-in continue without it. If the request is interrupted, send it again.',
  access: { permission: 'manage' },
  mfa: { policy: 'secrets' },
  audit: { target: 'name' },
  // The provider is told first: after a crash, the same request finds what is left.
  transaction: false,
  input: { params: ConnectionParams },
  answer: { data: z.object({ name: z.string(), deleted: z.literal(true) }) },

  async run({ params: { name } }, { db, actor, connectionProviders, events, keyring, log, now, storage }) {
    requireWholeProject(actor, 'connections')
    const connection = await connections.get(db, { project_id: actor.scope.project_id, name })
    const inUse = await grants.listInUse(db, { connection_id: connection.id })
    await revokeAtProvider(inUse, connection, { connectionProviders, keyring, log })
    await storage.transaction(async (held) => {
      const ended = await grants.listInUse(held, { connection_id: connection.id })
      await endGrants(held, ended, connection, { reason: 'connection_deleted', time: now() }, { events })
      await connections.remove(held, connection)
      // Runs that wait for it continue.
      await announce(held, 'queue')
    })
    return { name, deleted: true as const }
  },
})
