import type { Parts } from '../operation/parts.ts'
import type { FileSource } from '../runtime/attachments/attachment.ts'
import * as files from './store.ts'

/** How runs find and read the files that are attached to messages. */
export function openFiles({ storage, bytes, now }: Pick<Parts, 'storage' | 'bytes' | 'now'>): FileSource {
  return async ({ project_id, user_id }, id) => {
    const file = await files.find(storage.db, { project_id, id }, now())
    if (!file || (file.user_id !== null && file.user_id !== user_id)) return undefined
    const { name, media_type, size, blob_id } = file
    return { file_id: id, name, media_type, size, read: (range) => bytes.read(blob_id, range) }
  }
}
