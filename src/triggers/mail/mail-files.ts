import { keepFile } from '../../files/keep-file.ts'
import type { Parts } from '../../operation/parts.ts'
import { notShown, type ShownAttachment } from '../../runtime/attachments/attachment.ts'
import { mediaTypeOf } from '../../storage/bytes/media-type.ts'
import { Upload } from '../../storage/bytes/upload.ts'
import type { Database } from '../../storage/database.ts'
import type { MailFile } from './mail.ts'

const PIECE_BYTES = 256 * 1024

type FilesOf = { agent_id: string; request_id: string; user_id: string | null; created_by: string }
type FileParts = Pick<Parts, 'bytes' | 'config' | 'newId' | 'now'>

/** The files of a message. Their bytes are stored; files are made of them in the transaction that starts the run. */
export class MailFiles {
  readonly #uploads: readonly Upload[]
  readonly #parts: FileParts

  private constructor(uploads: readonly Upload[], parts: FileParts) {
    this.#uploads = uploads
    this.#parts = parts
  }

  static async receive(files: readonly MailFile[], project_id: string, parts: FileParts): Promise<MailFiles> {
    const uploads: Upload[] = []
    try {
      for (const { name, media_type, content } of files) {
        const taken = await parts.bytes.take(project_id, piecesOf(content))
        uploads.push(new Upload(taken, await mediaTypeOf(taken.head, media_type), name))
      }
    } catch (error) {
      await new MailFiles(uploads, parts).release()
      throw error
    }
    return new MailFiles(uploads, parts)
  }

  /** Throws `conflict` if there is no room for them. */
  async keep(db: Database, { agent_id, request_id, user_id, created_by }: FilesOf): Promise<ShownAttachment[]> {
    const kept: ShownAttachment[] = []
    for (const { taken, media_type, name } of this.#uploads) {
      const origin = { agent_id, request_id, schedule_id: null, user_id, created_by, unclaimed: 0 as const }
      const file = { ...origin, taken, media_type, name, expires_in_seconds: undefined }
      const { id: file_id, ...stored } = await keepFile(db, file, this.#parts)
      kept.push(notShown({ file_id, name: stored.name, media_type: stored.media_type, size: stored.size }))
    }
    return kept
  }

  /** Removes the bytes that no file has kept. */
  async release(): Promise<void> {
    for (const { taken } of this.#uploads) await this.#parts.bytes.release(taken)
  }
}

/** In pieces, because hashing a large file at once would hold up other requests. */
async function* piecesOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) yield bytes.subarray(at, at + PIECE_BYTES)
}
