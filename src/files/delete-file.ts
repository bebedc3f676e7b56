import { z } from 'zod'
import type { Needs } from '../operation/context.ts'
import { operation } from '../operation.ts'
import { enqueue } from '../storage/jobs/jobs.ts'
import { FileParams } from './file.ts'
import { getInReach, type ReachNeeds } from './file-in-reach.ts'
import * as files from './store.ts'

export const deleteFile = operation({
  id: 'deleteFile',
  method: 'DELETE',
  path: '/v1/files/{file_id}',
  summary: 'Delete a file',
  description:
    "The file's bytes are deleted in the background, unless another file in the project has the same content.",
  access: { permission: 'delete', userTokens: true },
  audit: { target: 'file_id' },
  input: { params: FileParams },
  answer: { data: z.object({ id: z.string(), deleted: z.literal(true) }) },

  async run({ params }, context: ReachNeeds & Needs<'newId'>) {
    const { db, newId, now } = context
    const { id } = await getInReach(context, 'delete', params.file_id)
    await files.remove(db, [id])
    await enqueue(db, { id: newId('job', now()), kind: 'file bytes', run_at: now() })
    return { id, deleted: true as const }
  },
})
