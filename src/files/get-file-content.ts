import type { Needs } from '../operation/context.ts'
import { operation } from '../operation.ts'
import { FileParams } from './file.ts'
import { getInReach, type ReachNeeds } from './file-in-reach.ts'

export const getFileContent = operation({
  id: 'getFileContent',
  method: 'GET',
  path: '/v1/files/{file_id}/content',
  summary: 'Download a file',
  description:
    'Returns the file as an attachment, which browsers download instead of showing it. A `Range` of bytes is answered with 206. The `ETag` is the SHA-256 of the whole file.',
  access: { permission: 'read', ownPermission: 'invoke', userTokens: true },
  input: { params: FileParams },
  answer: { content: true },

  async run({ params }, context: ReachNeeds & Needs<'bytes'>) {
    const { bytes } = context
    const file = await getInReach(context, 'read', params.file_id)
    return { ...file, read: (range) => bytes.read(file, range) }
  },
})
