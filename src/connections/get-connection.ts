import { requireWholeProject } from '../operation/scope.ts'
import { operation } from '../operation.ts'
import { ConnectionParams, ConnectionReply, presentConnection } from './connection.ts'
import * as connections from './store.ts'

export const getConnection = operation({
  id: 'getConnection',
  method: 'GET',
  path: '/v1/connections/{name}',
  summary: 'Get a connection',
  description: 'Its `redirect_uri` is what you enter at the provider. The client secret is never returned.',
  access: { permission: 'manage' },
  input: { params: ConnectionParams },
  answer: { data: ConnectionReply },

  async run({ params: { name } }, { db, actor, config }) {
    requireWholeProject(actor, 'connections')
    const connection = await connections.get(db, { project_id: actor.scope.project_id, name })
    return presentConnection(connection, config.server.publicUrl)
  },
})
