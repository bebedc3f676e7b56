import { ApiError, fileTooLarge } from '../errors.ts'
import type { Parts } from '../operation/parts.ts'
import { FileNotKept, type FileShelf } from '../runtime/attachments/attachment.ts'
import { BytesUnavailableError } from '../storage/bytes/byte-store.ts'
import { mediaTypeOf } from '../storage/bytes/media-type.ts'
import { FileName } from './file.ts'
import { keepFile } from './keep-file.ts'
import * as files from './store.ts'

type ShelfParts = Pick<Parts, 'storage' | 'bytes' | 'config' | 'newId' | 'now'>

/** How runs find and read files, and how they store what tools answer. */
export function openFiles({ storage, bytes, ...using }: ShelfParts): FileShelf {
  const { config, now } = using
  return {
    async find({ project_id, user_id }, id) {
      const file = await files.find(storage.db, { project_id, id, except: [] }, now())
      if (!file || (file.user_id !== null && file.user_id !== user_id)) return undefined
      const { name, media_type, size, sha256 } = file
      return { file_id: id, name, media_type, size, sha256, read: (range) => bytes.read(file, range) }
    },

    async keep({ project_id, ...maker }, { pieces, media_type: said, name: told }) {
      const name = FileName.safeParse(told).success ? told : 'file'
      try {
        const taken = await bytes.take(project_id, upTo(config.files.maxBytes, pieces))
        try {
          const media_type = await mediaTypeOf(taken.head, said)
          const of = { ...maker, schedule_id: null, unclaimed: 1 as const, expires_in_seconds: undefined }
          const made = { ...of, taken, media_type, name }
          const { id: file_id, size } = await storage.transaction((db) => keepFile(db, made, using))
          return { file_id, name, media_type, size }
        } finally {
          await bytes.release(taken)
        }
      } catch (error) {
        if (error instanceof ApiError) throw new FileNotKept(error.message)
        if (error instanceof BytesUnavailableError) throw new FileNotKept("Files can't be stored right now.")
        throw error
      }
    },
  }
}

async function* upTo(maxBytes: number, pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let size = 0
  for await (const piece of pieces) {
    size += piece.length
    if (size > maxBytes) throw fileTooLarge(maxBytes)
    yield piece
  }
}
