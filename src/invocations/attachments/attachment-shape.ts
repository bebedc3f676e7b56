import { z } from 'zod'
import { FileName } from '../../files/file.ts'
import { BASE64, MEDIA_TYPE } from '../../lib/text/text.ts'
import { Label } from '../../shapes.ts'

const MOST_ATTACHMENTS = 20

const MediaType = z.string().regex(MEDIA_TYPE, 'must be a media type')

/** A message's files: stored files, URLs to fetch, or the bytes themselves. */
export const AskedAttachments = z
  .array(
    z.union(
      [
        z.strictObject({ file_id: Label(100) }),
        z.strictObject({ url: z.url({ protocol: /^https?$/, error: 'must be an http(s) URL' }).max(2048) }),
        z.strictObject({
          data: z.string().min(1).regex(BASE64, 'must be base64').describe('Base64'),
          media_type: MediaType.optional(),
          name: FileName.optional(),
        }),
      ],
      { error: 'must be { file_id }, { url } or { data, media_type }' },
    ),
  )
  .max(MOST_ATTACHMENTS)

export const NamedFile = z.object({
  file_id: z.string(),
  name: z.string(),
  media_type: z.string(),
  size: z.int().describe('In bytes'),
})

/** An attachment as the receipt shows it. */
export const ReceiptAttachment = NamedFile.extend({
  shown_as: z
    .enum(['image', 'text', 'omitted'])
    .nullable()
    .describe("How the file was last sent to a model; null if it wasn't yet"),
  note: z.string().nullable().describe('What part of the file was not sent to the model, and why'),
}).meta({ id: 'InvocationAttachment' })
