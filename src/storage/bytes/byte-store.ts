/** The folder for files, in the data directory and in a backup. */
export const FILES_FOLDER = 'files'

/** The first and the last byte. */
export type ByteRange = { start: number; end: number }

/** What is known about bytes once they have all arrived. */
export type MeasuredBytes = { size: number; sha256: string }

/** Incoming bytes, and the project that they are for. */
export type NewBytes = { id: string; project_id: string }

/** A store for bytes. The bytes that are written under an ID never change. */
export type ByteStore = {
  /** Resolves when all bytes would survive a crash. After a failure, `remove` deletes what has arrived. */
  write(bytes: NewBytes, pieces: AsyncIterable<Uint8Array>, measured: () => MeasuredBytes): Promise<void>
  /** `Bytes` checks that the bytes are the requested ones. */
  read(id: string, range: ByteRange): AsyncIterable<Uint8Array>
  /** Resolves when nothing of the blob is left, even if it didn't exist. */
  remove(id: string): Promise<void>
}

/** The store for bytes doesn't respond, or is full. */
export class BytesUnavailableError extends Error {}

/** The store responds, but refuses these bytes. It may accept others. */
export class BytesRefusedError extends BytesUnavailableError {}

/** Bytes that should be there are missing, incomplete or different. */
export class MissingBytesError extends Error {
  constructor(id: string, problem = 'are missing') {
    super(`the bytes of ${id} ${problem}; restore them from a backup`)
  }
}
