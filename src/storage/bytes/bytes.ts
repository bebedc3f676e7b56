import { createHash } from 'node:crypto'
import type { NewId } from '../../lib/id.ts'
import type { Logger } from '../../lib/log.ts'
import type { Database } from '../database.ts'
import type { Storage } from '../open-storage.ts'
import type { Tables } from '../tables.ts'
import * as blobs from './blobs.ts'
import {
  type ByteRange,
  type ByteStore,
  BytesRefusedError,
  BytesUnavailableError,
  MissingBytesError,
} from './byte-store.ts'

/** How many bytes are read to detect a file's type. */
const HEAD_BYTES = 4_100

/**
 * Bytes that were received and would survive a crash. They become a blob of the project when a transaction keeps them.
 */
export type ReceivedBytes = {
  id: string
  project_id: string
  size: number
  sha256: string
  /** The first bytes. */
  head: Uint8Array
}

/** A file's bytes, as its row describes them. */
export type StoredBytes = { blob_id: string; size: number; sha256: string }

type Place = Tables['blobs']['kept_in']

/** The result of removing bytes. If a store is unavailable, only one blob is tried in it. */
type RemovalResult = { gone: string[]; refused: string[]; unanswered: string[]; away: Set<Place>; failure: unknown }

/** Bytes whose removal was refused are tried again after this time. */
const REFUSED_MS = 3_600_000

type Options = {
  storage: Pick<Storage, 'db' | 'transaction'>
  places: Partial<Record<Place, ByteStore>>
  /** The store for new bytes. */
  home: Place
  newId: NewId
  now(): number
  log: Logger
}

/** Receives, returns and removes bytes of any size. Only a small part of them is in memory at any time. */
export class Bytes {
  readonly #options: Options

  constructor(options: Options) {
    this.#options = options
  }

  /**
   * Stores the bytes. The caller keeps them in a transaction (`blobs.keep`), and then always calls `release`. Bytes
   * that are already stored are written again, so the time that this takes doesn't reveal what others have stored.
   */
  async take(project_id: string, pieces: AsyncIterable<Uint8Array>): Promise<ReceivedBytes> {
    const { storage, home, newId, now } = this.#options
    const rest = pieces[Symbol.asyncIterator]()
    // A client that sends nothing doesn't leave a row.
    const first = await rest.next()
    const created_at = now()
    const id = newId('blob', created_at)
    await blobs.insert(storage.db, { id, project_id, kept_in: home, created_at })
    const measure = new Measure()
    try {
      await this.#place(home).write({ id, project_id }, measure.along(first, rest), () => measure.result())
      return { id, project_id, ...measure.result() }
    } catch (error) {
      await this.release({ id })
      throw error
    } finally {
      await rest.return?.()
    }
  }

  /** Removes received bytes that were not kept. If that fails, a job removes them later. */
  async release({ id }: Pick<ReceivedBytes, 'id'>): Promise<void> {
    const { storage, home, log } = this.#options
    try {
      if (!(await blobs.dropIncoming(storage.db, id))) return
      await this.#place(home).remove(id)
      await storage.transaction((held) => blobs.remove(held, [id]))
    } catch (err) {
      log.warn({ err, id }, 'bytes that are no longer needed could not be removed; they will be removed later')
    }
  }

  /**
   * Yields the bytes. Rejects instead of ending early if bytes are missing, if there are too many, or if they aren't
   * what was stored. Never yields more than was requested, no matter what a store returns.
   */
  async *read({ blob_id: id, size, sha256 }: StoredBytes, range: ByteRange): AsyncGenerator<Uint8Array> {
    let left = range.end + 1 - range.start
    if (left <= 0) return
    const place = await blobs.findPlace(this.#options.storage.db, id)
    if (!place) throw new MissingBytesError(id)
    const whole = left === size ? createHash('sha256') : undefined
    let last: Uint8Array | undefined
    for await (const piece of this.#place(place).read(id, range)) {
      if (last) yield last
      left -= piece.length
      if (left < 0) throw new MissingBytesError(id, 'are more than the stored size')
      whole?.update(piece)
      last = piece
    }
    if (left > 0) throw new MissingBytesError(id)
    if (whole && whole.digest('hex') !== sha256) throw new MissingBytesError(id, "don't match what was stored")
    // The last piece is passed on only if everything is correct. A client that doesn't get it knows that something is
    // missing.
    if (last) yield last
  }

  /**
   * Removes the bytes of about `limit` dropped blobs and then their rows, including files whose erasure was
   * interrupted. Returns how many. The sweep that began at `before` tries each blob once. Rejects if all blobs that are
   * left are in an unavailable store.
   */
  async removeDropped(db: Database, before: number, limit: number): Promise<number> {
    const { storage, log } = this.#options
    const known = Object.keys(this.#options.places) as Place[]
    const soon = before + 1
    for (let places = known; places.length > 0; ) {
      const dropped = await blobs.listDropped(db, { before, places }, limit)
      if (dropped.length === 0) break
      const { gone, refused, unanswered, away } = await this.clear(dropped)
      await storage.transaction((held) => blobs.remove(held, gone))
      await blobs.postpone(db, refused, before + REFUSED_MS)
      await blobs.postpone(db, unanswered, soon)
      if (gone.length > 0) return gone.length
      places = places.filter((place) => !away.has(place))
    }
    if (await blobs.isAnyElsewhere(db, known)) {
      log.warn("bytes of removed files can't be deleted, because their storage is no longer configured (files.s3)")
    }
    if (await blobs.isAnyPostponed(db, soon)) {
      throw new BytesUnavailableError('bytes of removed files could not be deleted; this will be retried')
    }
    return 0
  }

  /** Removes the bytes of dropped blobs, but not their rows. A blob that can't be removed doesn't delay the others. */
  async clear(dropped: readonly blobs.DroppedBlob[]): Promise<RemovalResult> {
    const cleared: RemovalResult = { gone: [], refused: [], unanswered: [], away: new Set(), failure: undefined }
    for (const { id, kept_in } of dropped) {
      if (cleared.away.has(kept_in)) continue
      try {
        await this.#place(kept_in).remove(id)
        cleared.gone.push(id)
      } catch (err) {
        this.#options.log.warn({ err, id }, 'bytes could not be removed')
        cleared.failure ??= err
        const isAway = err instanceof BytesUnavailableError && !(err instanceof BytesRefusedError)
        if (isAway) cleared.away.add(kept_in)
        cleared[isAway ? 'unanswered' : 'refused'].push(id)
      }
    }
    return cleared
  }

  #place(name: Place): ByteStore {
    const place = this.#options.places[name]
    if (place) return place
    throw new BytesUnavailableError(`bytes are stored in ${name}, which is no longer configured (files.s3)`)
  }
}

/** Measures bytes while they pass through. */
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

  result(): Pick<ReceivedBytes, 'size' | 'sha256' | 'head'> {
    this.#sha256 ??= this.#hash.digest('hex')
    return { size: this.#size, sha256: this.#sha256, head: this.#head }
  }
}
