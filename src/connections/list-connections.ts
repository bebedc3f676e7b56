import { requireWholeProject } from '../operation/scope.ts'
import { operation } from '../operation.ts'
import { listQuery } from '../shapes.ts'
import { ConnectionReply, presentConnection } from './connection.ts'
import * as connections from './store.ts'

export const listConnections = operation({
  id: 'listConnections',
  method: 'GET',
  path: '/v1/connections',
  summary: 'List connections',
  description: 'Client secrets are never returned.',
  access: { permission: 'manage' },
  input: { query: listQuery(['created_at', 'updated_at', 'name'], {}) },
  answer: { list: ConnectionReply },

  async run({ query }, { db, actor, config }) {
    requireWholeProject(actor, 'connections')
    const { items, total } = await connections.list(db, actor.scope.project_id, query)
    return { items: items.map((one) => presentConnection(one, config.server.publicUrl)), total }
  },
})
