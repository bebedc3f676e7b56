import { z } from 'zod'
import { withKeyName } from '../keys/key-names.ts'
import type { Needs } from '../operation/context.ts'
import { requireUser } from '../operation/scope.ts'
import { operation } from '../operation.ts'
import { Label } from '../shapes.ts'
import { Upload } from '../storage/bytes/upload.ts'
import { FileName, FileReply } from './file.ts'
import { keepFile } from './keep-file.ts'

const SHORTEST_SECONDS = 60
const LONGEST_SECONDS = 315_360_000

export const createFile = operation({
  id: 'createFile',
  method: 'POST',
  path: '/v1/files',
  summary: 'Upload a file',
  description:
    'The body is the file itself with its `Content-Type`, or a form (`multipart/form-data`) with one file. It is stored as it comes, up to `files.maxBytes`. The same bytes are stored once in a project. A token that speaks for one user makes files of that user.',
  permission: 'invoke',
  userTokens: true,
  audit: { target: 'reply' },
  idempotent: true,
  success: 201,
  errors: ['conflict', 'request_timeout'],
  query: z.strictObject({
    name: FileName.optional().describe('Without it the name that the form gives, or `file`'),
    user_id: Label(256).optional().describe('The user that it belongs to'),
    expires_in_seconds: z.int().min(SHORTEST_SECONDS).max(LONGEST_SECONDS).optional().describe('When it is removed'),
  }),
  upload: true,
  body: z.instanceof(Upload),
  data: FileReply,

  async run(
    { query: { name, user_id, expires_in_seconds }, body },
    { db, actor, config, newId, now }: Needs<'db' | 'actor' | 'config' | 'newId' | 'now'>,
  ) {
    const { taken, media_type } = body
    const file = await keepFile(
      db,
      {
        taken,
        media_type,
        name: name ?? body.name,
        user_id: requireUser(actor, user_id) ?? null,
        created_by: actor.id,
        agent_id: null,
        request_id: null,
        schedule_id: null,
        unclaimed: 0,
        expires_in_seconds,
      },
      { config, newId, now },
    )
    return withKeyName(db, actor, file, ['created_by'])
  },
})
