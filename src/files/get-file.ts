import { withKeyName } from '../keys/key-names.ts'
import { operation } from '../operation.ts'
import { FileParams, FileReply } from './file.ts'
import { getInReach, type ReachNeeds } from './file-in-reach.ts'

export const getFile = operation({
  id: 'getFile',
  method: 'GET',
  path: '/v1/files/{file_id}',
  summary: 'Get a file',
  description: 'With only the permission `invoke`, a key has access to the files it uploaded itself.',
  access: { permission: 'read', ownPermission: 'invoke', userTokens: true },
  input: { params: FileParams },
  answer: { data: FileReply },

  async run({ params }, context: ReachNeeds) {
    const { db, actor } = context
    return withKeyName(db, actor, await getInReach(context, 'read', params.file_id), ['created_by'])
  },
})
