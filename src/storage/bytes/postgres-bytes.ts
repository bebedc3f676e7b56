import { FairRoom } from '../../lib/work/fair-room.ts'
import { laneKey } from '../../lib/work/lane-key.ts'
import type { Database } from '../database.ts'
import { type ByteStore, MissingBytesError, type NewBytes } from './byte-store.ts'

const CHUNK_BYTES = 262_144
/** How many connections all uploads of a node use together. The others are for shorter requests. */
const UPLOADS_AT_ONCE = 3

/** Keeps blobs in the database, in chunks. Every node has access, and no node has more than one chunk in memory. */
export function postgresBytes(db: Database): ByteStore {
  const places = new FairRoom(UPLOADS_AT_ONCE)
  const insert = ({ id, project_id }: NewBytes, part: number, bytes: Uint8Array) =>
    places.during(laneKey(project_id, id), () =>
      db.insertInto('blob_chunks').values({ blob_id: id, part, bytes }).execute(),
    )
  return {
    async write(blob, pieces) {
      let part = 0
      for await (const chunk of inChunks(pieces, CHUNK_BYTES)) await insert(blob, part++, chunk)
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

/**
 * The same bytes in pieces of equal size, except that the last one may be smaller. Each piece is released when the next
 * one is requested, because all uploads together would otherwise use too much memory.
 */
async function* inChunks(pieces: AsyncIterable<Uint8Array>, size: number): AsyncGenerator<Buffer> {
  const chunk = Buffer.allocUnsafeSlow(size)
  let length = 0
  for await (const piece of pieces) {
    for (let taken = 0; taken < piece.length; ) {
      const part = piece.subarray(taken, taken + size - length)
      chunk.set(part, length)
      taken += part.length
      length += part.length
      if (length < size) continue
      yield chunk
      length = 0
    }
  }
  if (length > 0) yield chunk.subarray(0, length)
}
