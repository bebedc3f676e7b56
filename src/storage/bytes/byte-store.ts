/** The folder of files, in the data directory and in a backup. */
export const FILES_FOLDER = 'files'

/** The first and the last byte. */
export type ByteRange = { start: number; end: number }

/** What is known of bytes when the last of them has come. */
export type MeasuredBytes = { size: number; sha256: string }

/** Bytes that come in, and the project that they are for. */
export type NewBytes = { id: string; project_id: string }

/** A place where bytes are kept. What is written under an id never changes. */
export type ByteStore = {
  /** Resolves when all of it would survive a crash. After a failure `remove` takes away what came. */
  write(bytes: NewBytes, pieces: AsyncIterable<Uint8Array>, measured: () => MeasuredBytes): Promise<void>
  /** `Bytes` compares what comes with what was asked for. */
  read(id: string, range: ByteRange): AsyncIterable<Uint8Array>
  /** Resolves when nothing of it is left, also if nothing was there. */
  remove(id: string): Promise<void>
}

/** The place where bytes are kept does not answer, or has no room. */
export class BytesUnavailableError extends Error {}

/** The place answers, and refuses these bytes. It may take others. */
export class BytesRefusedError extends BytesUnavailableError {}

/** Bytes that should be there are not, or not all of them, or they are others. */
export class MissingBytesError extends Error {
  constructor(id: string, problem = 'are missing') {
    super(`the bytes of ${id} ${problem}; restore them from a backup`)
  }
}
