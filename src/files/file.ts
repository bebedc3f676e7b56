import { z } from 'zod'
import { KeyName, Time } from '../shapes.ts'
import type { Tables } from '../storage/tables.ts'

export type StoredFile = Tables['files']

export const FileParams = z.strictObject({ file_id: z.string() })

/** A name and not a path: clients save files under it. */
export const FileName = z
  .string()
  .min(1)
  .max(255)
  .regex(
    /^(?!\.{1,2}$)[^/\\\p{Cc}\u2028-\u202e\u2066-\u2069]*$/u,
    'must be a file name without slashes, control characters or characters that change the text direction',
  )

export const FileReply = z
  .object({
    id: z.string(),
    name: z.string(),
    media_type: z.string().describe('The type that was sent, or the type detected from the content'),
    size: z.int().describe('In bytes'),
    sha256: z.string(),
    user_id: z
      .string()
      .nullable()
      .describe("The user that the file belongs to. It is erased and exported with that user's data"),
    created_by: z.string(),
    created_by_name: KeyName,
    created_at: Time,
    expires_at: Time.nullable().describe("When the file is deleted; null if only the service's retention applies"),
  })
  .meta({ id: 'StoredFile' })
