import { z } from 'zod'
import { KeyName, Time } from '../shapes.ts'
import type { FilesTable } from '../storage/tables/file-tables.ts'

export type StoredFile = FilesTable

export const FileParams = z.strictObject({ file_id: z.string() })

/** A name and not a path: clients save files under it. */
export const FileName = z
  .string()
  .min(1)
  .max(255)
  .regex(
    /^(?!\.{1,2}$)[^/\\\p{Cc}\u2028-\u202e\u2066-\u2069]*$/u,
    'must be a name: without slashes, control characters and changes of direction',
  )

export const FileReply = z
  .object({
    id: z.string(),
    name: z.string(),
    media_type: z.string().describe('As the client said, unless the bytes say otherwise'),
    size: z.int().describe('In bytes'),
    sha256: z.string(),
    user_id: z.string().nullable().describe('The user that it belongs to: it is erased and exported with them'),
    created_by: z.string(),
    created_by_name: KeyName,
    created_at: Time,
    expires_at: Time.nullable().describe('When it is removed; null if that is left to the retention of the service'),
  })
  .meta({ id: 'StoredFile' })
