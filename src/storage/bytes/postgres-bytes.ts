import type { Database } from '../database.ts'
import { type ByteStore, MissingBytesError } from './byte-store.ts'

const CHUNK_BYTES = 262_144

/** Keeps blobs in the database, in chunks: every node has them, and none holds more than a chunk of one in memory. */
export function postgresBytes(db: Database): ByteStore {
  const insert = (blob_id: string, part: number, bytes: Uint8Array) =>
    db.insertInto('blob_chunks').values({ blob_id, part, bytes }).execute()
  return {
    async write(id, pieces) {
      let part = 0
      for await (const chunk of inChunks(pieces, CHUNK_BYTES)) await insert(id, part++, chunk)
    },
    async *read(id, { start, end }) {
      for (let part = Math.floor(start / CHUNK_BYTES); part * CHUNK_BYTES <= end; part++) {
        const chunk = await db
          .selectFrom('blob_chunks')
          .select('bytes')
          .where('blob_id', '=', id)
          .where('part', '=', part)
          .executeTakeFirst()
        if (!chunk) throw new MissingBytesError(id)
        const offset = part * CHUNK_BYTES
        yield chunk.bytes.subarray(Math.max(0, start - offset), end + 1 - offset)
      }
    },
    async remove(id) {
      await db.deleteFrom('blob_chunks').where('blob_id', '=', id).execute()
    },
  }
}

/** The same bytes in pieces of one size; the last one may be smaller. */
async function* inChunks(pieces: AsyncIterable<Uint8Array>, size: number): AsyncGenerator<Buffer> {
  let gathered: Uint8Array[] = []
  let length = 0
  for await (const piece of pieces) {
    let rest = piece
    while (length + rest.length >= size) {
      const cut = size - length
      yield Buffer.concat([...gathered, rest.subarray(0, cut)])
      rest = rest.subarray(cut)
      gathered = []
      length = 0
    }
    if (rest.length > 0) gathered.push(rest)
    length += rest.length
  }
  if (length > 0) yield Buffer.concat(gathered)
}
