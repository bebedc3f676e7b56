import { invalid } from '../../errors.ts'
import { requireUser } from '../../operation/scope.ts'
import { operation } from '../../operation.ts'
import { covers } from '../../security/permissions.ts'
import { listQuery } from '../../shapes.ts'
import { ConnectionParams, PROJECT } from '../connection.ts'
import { UserId } from '../links/connection-link.ts'
import * as connections from '../store.ts'
import { GrantReply, GrantStatus, presentGrant } from './connection-grant.ts'
import * as grants from './grant-store.ts'

export const listGrants = operation({
  id: 'listGrants',
  method: 'GET',
  path: '/v1/connections/{name}/grants',
  summary: "List a connection's grants",
  description:
    'Lists who has signed in. Tokens are never returned. With only the permission `invoke`, `user_id` is required.',
  access: { permission: 'invoke', userTokens: true },
  input: {
    params: ConnectionParams,
    query: listQuery(['created_at', 'updated_at', 'id'], {
      user_id: UserId.optional(),
      status: GrantStatus.optional(),
    }),
  },
  answer: { list: GrantReply },

  async run({ params: { name }, query: { user_id, status, ...query } }, { db, actor }) {
    const connection = await connections.get(db, { project_id: actor.scope.project_id, name })
    const whose = requireUser(actor, user_id)
    const seesAll = covers(actor.permissions, 'manage') && actor.scope.agent_id === null
    if (whose === undefined && !seesAll)
      throw invalid({ field: 'user_id', error: 'is required without the permission `manage`' })
    const holder = connection.acts_as === 'service' && seesAll && whose === undefined ? PROJECT : whose
    const { items, total } = await grants.list(db, query, { connection_id: connection.id, holder, status })
    return { items: items.map((grant) => presentGrant(grant, name)), total }
  },
})
