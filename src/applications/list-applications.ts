import { z } from 'zod'
import { withKeyNames } from '../keys/key-names.ts'
import { operation } from '../operation.ts'
import { covers } from '../security/permissions.ts'
import { listQuery } from '../shapes.ts'
import { ApplicationReply } from './application.ts'
import * as applications from './store.ts'

export const listApplications = operation({
  id: 'listConnectedApplications',
  method: 'GET',
  path: '/v1/connected-applications',
  summary: 'List connected applications',
  description:
    'Lists the MCP clients that people have connected by signing in, such as claude.ai or Cursor. Without the permission `manage`, the list contains only the ones you connected.',
  access: { permission: 'manage', ownPermission: 'invoke' },
  input: {
    query: listQuery(['created_at', 'last_used_at', 'expires_at', 'name', 'id'], { person_id: z.string().optional() }),
  },
  answer: { list: ApplicationReply },

  async run({ query }, { db, actor, shownAgents, now }) {
    const { person_id, ...page } = query
    const own = covers(actor.permissions, 'manage') ? undefined : { id: actor.id, person_id: actor.person_id }
    const filter = { shown: await shownAgents(), reach: actor.reach, person_id, own }
    const { items, total } = await applications.list(db, page, filter, now())
    return { items: await withKeyNames(db, actor, items, ['created_by']), total }
  },
})
