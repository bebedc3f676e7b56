import { createHash, randomUUID } from 'node:crypto'
import { type FileHandle, mkdir, open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import type * as Aws from 'aws4fetch'
import type { Dispatcher } from 'undici'
import { lazily, lazilyInTurn, PARTS_OF_UNDICI } from '../../lib/lazily.ts'
import { withoutEndingSlashes } from '../../lib/text/text.ts'
import { type ByteStore, BytesRefusedError, BytesUnavailableError, MissingBytesError } from './byte-store.ts'
import { onDisk } from './on-disk.ts'

export type S3Options = {
  endpoint: string
  bucket: string
  region: string
  accessKeyId: string
  secretAccessKey: string
}

const aws = lazily<typeof Aws>('aws4fetch')
const undici = lazilyInTurn<typeof import('undici')>(...PARTS_OF_UNDICI, 'undici')

const TRIES = 4
const FIRST_PAUSE_MS = 200
/** How long S3 has to start its reply. */
const SILENT_MS = 30_000
const EMPTY_SHA256 = createHash('sha256').digest('hex')

type S3Request = {
  method: 'PUT' | 'GET' | 'DELETE'
  id: string
  headers?: Record<string, string>
  /** The hash of the body, which the signature covers. */
  sha256?: string
  body?: () => Readable
}

/** Keeps each blob as an object in a bucket. On their way there, bytes are in `folder`. */
export function s3Bytes(options: S3Options, folder: string): ByteStore {
  const ask = (wanted: S3Request) => askPatiently(options, wanted)
  return {
    async write({ id }, pieces, measured) {
      // S3 requires the length and the hash before it accepts the first byte.
      await using spooled = await onDisk(folder, () => spool(folder, pieces))
      const { size, sha256 } = measured()
      const headers = { 'content-length': String(size), 'content-type': 'application/octet-stream' }
      await ask({ method: 'PUT', id, headers, sha256, body: () => spooled.read(size) })
    },
    async *read(id, { start, end }) {
      const wanted = `bytes ${start}-${end}/`
      const range = `bytes=${start}-${end}`
      const { statusCode, headers, body } = await ask({ method: 'GET', id, headers: { range } })
      // A store without support for ranges replies 200 with the whole object.
      const isRight = statusCode === 206 ? String(headers['content-range']).startsWith(wanted) : start === 0
      if (statusCode !== 404 && isRight) return yield* body as AsyncIterable<Buffer>
      await body.dump()
      if (statusCode === 404) throw new MissingBytesError(id)
      throw new BytesUnavailableError(`S3 was asked for ${wanted}* of ${id}, and returned other bytes (${statusCode})`)
    },
    async remove(id) {
      await ask({ method: 'DELETE', id })
    },
  }
}

/** S3's problems may be temporary, so a request is tried a few times. A missing object is a final answer. */
async function askPatiently(options: S3Options, wanted: S3Request): Promise<Dispatcher.ResponseData> {
  for (let tries = 1; ; tries++) {
    const answer = await askOnce(options, wanted).catch((error: Error) => error)
    if (!(answer instanceof Error)) {
      if (answer.statusCode < 300) return answer
      if (answer.statusCode === 404 && wanted.method === 'GET') return answer
      await answer.body.dump()
      if (answer.statusCode === 404 && wanted.method === 'DELETE') return answer
    }
    const mayPass = answer instanceof Error || answer.statusCode >= 500 || answer.statusCode === 429
    if (!mayPass || tries === TRIES) {
      const why = answer instanceof Error ? answer.message : `status ${answer.statusCode}`
      const Failure = mayPass ? BytesUnavailableError : BytesRefusedError
      throw new Failure(`S3 can't ${wanted.method} ${wanted.id}: ${why}`)
    }
    await delay(FIRST_PAUSE_MS * 2 ** (tries - 1))
  }
}

async function askOnce(options: S3Options, wanted: S3Request): Promise<Dispatcher.ResponseData> {
  const { endpoint, bucket, region, accessKeyId, secretAccessKey } = options
  const { method, id, headers = {}, sha256 = EMPTY_SHA256, body } = wanted
  const signer = new (aws().AwsV4Signer)({
    method,
    url: `${withoutEndingSlashes(endpoint)}/${bucket}/${id}`,
    headers: { ...headers, 'x-amz-content-sha256': sha256 },
    accessKeyId,
    secretAccessKey,
    region,
    service: 's3',
  })
  const signed = await signer.sign()
  const { request } = await undici()
  const answer = await request(signed.url, {
    method,
    headers: Object.fromEntries(signed.headers),
    body: body?.() ?? null,
    headersTimeout: SILENT_MS,
    bodyTimeout: SILENT_MS,
  })
  if (method !== 'GET' && answer.statusCode < 300) await requireDone(answer.body)
  return answer
}

/**
 * S3's reply is empty when it has stored or deleted an object. Proxies and some stores report an error or show a page
 * with status 200.
 */
async function requireDone(body: AsyncIterable<Buffer>): Promise<void> {
  for await (const piece of body) {
    if (piece.toString().trimStart().startsWith('<'))
      throw new Error('the reply is a page or an error, with status 200')
    if (piece.length > 0) return
  }
}

type SpooledFile = AsyncDisposable & { read(size: number): Readable }

/** Writes the bytes to a file without a name, of which nothing is left when the process ends for any reason. */
async function spool(folder: string, pieces: AsyncIterable<Uint8Array>): Promise<SpooledFile> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const path = join(folder, `upload-${randomUUID()}`)
  const file: FileHandle = await open(path, 'wx+', 0o600)
  try {
    await rm(path)
    for await (const piece of pieces) await file.appendFile(piece)
    return {
      read: (size) => Readable.from(piecesOf(file, size)),
      [Symbol.asyncDispose]: () => file.close(),
    }
  } catch (error) {
    await file.close()
    throw error
  }
}

const PIECE_BYTES = 65_536

/** Reads the file from the beginning for each try, because a try may fail in the middle. */
async function* piecesOf(file: FileHandle, size: number): AsyncGenerator<Buffer> {
  for (let position = 0; position < size; ) {
    const { bytesRead, buffer } = await file.read({ buffer: Buffer.allocUnsafe(PIECE_BYTES), position })
    if (bytesRead === 0) return
    position += bytesRead
    yield buffer.subarray(0, bytesRead)
  }
}
