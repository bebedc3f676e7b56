import { z } from 'zod'
import { withKeyName } from '../keys/key-names.ts'
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
    'Send the file as the body with its `Content-Type`, or as a form (`multipart/form-data`) with one file. The maximum size is `files.maxBytes`. Identical files in a project share their storage. With a user token, the file belongs to that user. If it would exceed a limit of the user or the project, the request fails with 409.',
  access: { permission: 'invoke', userTokens: true },
  audit: { target: 'reply' },
  idempotent: true,
  input: {
    query: z.strictObject({
      name: FileName.optional().describe('Default: the name in the form, or `file`'),
      user_id: Label(256).optional().describe('The user that the file belongs to'),
      expires_in_seconds: z
        .int()
        .min(SHORTEST_SECONDS)
        .max(LONGEST_SECONDS)
        .optional()
        .describe('When the file is deleted'),
    }),
    body: z.instanceof(Upload),
    upload: true,
  },
  answer: { status: 201, data: FileReply, errors: ['conflict', 'request_timeout'] },

  async run({ query: { name, user_id, expires_in_seconds }, body }, { db, actor, config, newId, now }) {
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
