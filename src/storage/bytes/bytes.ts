import { createHash } from 'node:crypto'
import type { NewId } from '../../lib/id.ts'
import type { Logger } from '../../lib/log.ts'
import type { Database } from '../database.ts'
import type { Storage } from '../open-storage.ts'
import type { BlobsTable } from '../tables/file-tables.ts'
import * as blobs from './blobs.ts'
import { type ByteRange, type ByteStore, BytesUnavailableError, MissingBytesError } from './byte-store.ts'

/** What is looked at to tell the type of a file. */
const HEAD_BYTES = 4_100

/** Bytes that have come and are durable. They are a blob of the project once a transaction keeps them. */
export type TakenBytes = {
  id: string
  project_id: string
  size: number
  sha256: string
  /** The first of them. */
  head: Uint8Array
}

type Place = BlobsTable['kept_in']

type Options = {
  storage: Pick<Storage, 'db'>
  places: Partial<Record<Place, ByteStore>>
  /** Where new bytes go. */
  home: Place
  newId: NewId
  now(): number
  log: Logger
}

/** Takes in bytes of any size, gives them out again, and removes them. No more than a piece of them is in memory. */
export class Bytes {
  readonly #options: Options

  constructor(options: Options) {
    this.#options = options
  }

  /**
   * Stores the bytes. The caller keeps them in a transaction (`blobs.keep`), and calls `release` afterwards in any case.
   * The same bytes are written again if they are here already: how long it takes tells nothing about what others have.
   */
  async take(project_id: string, pieces: AsyncIterable<Uint8Array>): Promise<TakenBytes> {
    const { storage, home, newId, now } = this.#options
    const rest = pieces[Symbol.asyncIterator]()
    // A client that sends nothing leaves no row.
    const first = await rest.next()
    const created_at = now()
    const id = newId('blob', created_at)
    await blobs.insert(storage.db, { id, project_id, kept_in: home, created_at })
    const measure = new Measure()
    try {
      await this.#place(home).write(id, measure.along(first, rest), () => measure.result())
      return { id, project_id, ...measure.result() }
    } catch (error) {
      await this.release({ id })
      throw error
    } finally {
      await rest.return?.()
    }
  }

  /** Removes taken bytes that were not kept. If that fails, they are swept up later. */
  async release({ id }: Pick<TakenBytes, 'id'>): Promise<void> {
    const { storage, home, log } = this.#options
    try {
      if (await blobs.dropIncoming(storage.db, id)) await this.#remove(storage.db, { id, kept_in: home })
    } catch (err) {
      log.warn({ err, id }, 'bytes that are not needed could not be removed now, and will be swept up')
    }
  }

  /** Rejects, and does not end early, if some of the bytes are missing. */
  async *read(id: string, range: ByteRange): AsyncGenerator<Uint8Array> {
    const place = await blobs.findPlace(this.#options.storage.db, id)
    if (!place) throw new MissingBytesError(id)
    let left = range.end + 1 - range.start
    for await (const piece of this.#place(place).read(id, range)) {
      left -= piece.length
      yield piece
    }
    if (left !== 0) throw new MissingBytesError(id)
  }

  /** Removes the bytes of dropped blobs, about `limit` of them, and then their rows. Returns how many. */
  async removeDropped(db: Database, limit: number): Promise<number> {
    const dropped = await blobs.listDropped(db, limit)
    for (const blob of dropped) await this.#remove(db, blob)
    return dropped.length
  }

  async #remove(db: Database, { id, kept_in }: Pick<BlobsTable, 'id' | 'kept_in'>): Promise<void> {
    await this.#place(kept_in).remove(id)
    await blobs.remove(db, id)
  }

  #place(name: Place): ByteStore {
    const place = this.#options.places[name]
    if (place) return place
    throw new BytesUnavailableError(`bytes are kept in ${name}, which is not configured any more (files.s3)`)
  }
}

/** What becomes known of bytes while they pass. */
class Measure {
  readonly #hash = createHash('sha256')
  #sha256: string | undefined
  #head: Uint8Array = new Uint8Array()
  #size = 0

  async *along(first: IteratorResult<Uint8Array>, rest: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
    for (let next = first; !next.done; next = await rest.next()) {
      const piece = next.value
      this.#hash.update(piece)
      this.#size += piece.length
      if (this.#head.length < HEAD_BYTES) this.#head = Buffer.concat([this.#head, piece]).subarray(0, HEAD_BYTES)
      yield piece
    }
  }

  result(): Pick<TakenBytes, 'size' | 'sha256' | 'head'> {
    this.#sha256 ??= this.#hash.digest('hex')
    return { size: this.#size, sha256: this.#sha256, head: this.#head }
  }
}
