import { requireWholeProject } from '../operation/scope.ts'
import { requireToolName } from '../operation/tool-name.ts'
import { operation } from '../operation.ts'
import { policiesOf } from '../security/outgoing/policies.ts'
import type { Connection } from './connection.ts'
import {
  ConnectionParams,
  ConnectionReply,
  checkConnection,
  endsGrants,
  keepsSecret,
  presentConnection,
  SetConnectionBody,
  secretPurpose,
} from './connection.ts'
import { endGrants } from './grants/end-grants.ts'
import * as grants from './grants/grant-store.ts'
import * as connections from './store.ts'

export const setConnection = operation({
  id: 'setConnection',
  method: 'PUT',
  path: '/v1/connections/{name}',
  summary: 'Set a connection',
  description:
    'Tools use it as `connection` of an MCP tool, or as `{{connection.NAME}}` in a header of an HTTP tool, from their next call on. The client secret is stored encrypted and never returned. Setting it again replaces it. Users stay signed in, unless the provider, the client, the scopes or `as` change. Requires a key that is not limited to one agent.',
  access: { permission: 'manage' },
  mfa: { policy: 'secrets' },
  audit: { target: 'name' },
  input: { params: ConnectionParams, body: SetConnectionBody },
  answer: { data: ConnectionReply, errors: ['conflict'] },

  async run({ params: { name }, body }, { db, actor, config, events, keyring, newId, now }) {
    requireWholeProject(actor, 'connections')
    requireToolName(name)
    checkConnection(body, policiesOf(config).outgoing)
    const { project_id } = actor.scope
    const before = await connections.find(db, { project_id, name }, { isLocked: true })
    const time = now()
    const { as: acts_as, client_secret, hosts, ...fields } = body
    const wanted = {
      ...fields,
      id: before?.id ?? newId('con', time),
      project_id,
      name,
      acts_as,
      hosts: hosts ?? [new URL(fields.url ?? '').hostname],
      registration: null,
      created_at: before?.created_at ?? time,
      updated_at: time,
    }
    const kept = before && keepsSecret(before, wanted) ? before : undefined
    const sealed = typeof client_secret === 'string' ? keyring.encrypt(client_secret, secretPurpose(wanted)) : null
    const connection: Connection = {
      ...wanted,
      client_secret: client_secret === undefined ? (kept?.client_secret ?? null) : sealed,
      registration: kept?.registration ?? null,
    }
    if (before && endsGrants(before, connection)) {
      const ended = await grants.listInUse(db, { connection_id: before.id })
      await endGrants(db, ended, before, { reason: 'connection_changed', time }, { events })
    }
    await connections.put(db, connection)
    return presentConnection(connection, config.server.publicUrl)
  },
})
