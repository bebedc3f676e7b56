import type { ByteRange } from './byte-store.ts'

/** Bytes that an operation answers with. The client gets the range that it requests. */
export type Content = {
  name: string
  media_type: string
  size: number
  sha256: string
  read(range: ByteRange): AsyncIterable<Uint8Array>
}
