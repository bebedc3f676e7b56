import { z } from 'zod'
import { withKeyNames } from '../keys/key-names.ts'
import { requireUser } from '../operation/scope.ts'
import { operation } from '../operation.ts'
import { listQuery } from '../shapes.ts'
import { FileReply } from './file.ts'
import { makerFor, type ReachNeeds } from './file-in-reach.ts'
import * as files from './store.ts'

export const listFiles = operation({
  id: 'listFiles',
  method: 'GET',
  path: '/v1/files',
  summary: 'List files',
  description:
    "With only the permission `invoke`, or with a key limited to one agent, the list contains the files that the key uploaded. With a user token, it contains that user's files.",
  access: { permission: 'read', ownPermission: 'invoke', userTokens: true },
  input: {
    query: listQuery(['created_at', 'name', 'size', 'id'], {
      user_id: z.string().max(256).optional(),
      media_type: z.string().max(200).optional(),
      after: z.string().max(100).optional().describe('Lists the files after this one, in the order of `created_at`'),
    }),
  },
  answer: { list: FileReply },

  async run({ query: { user_id, media_type, after, ...page } }, { db, actor, now, shownAgents }: ReachNeeds) {
    const filter = { user_id: requireUser(actor, user_id), media_type, after, created_by: makerFor(actor, 'read') }
    const { items, total } = await files.list(db, await shownAgents(), page, filter, now())
    return { items: await withKeyNames(db, actor, items, ['created_by']), total }
  },
})
