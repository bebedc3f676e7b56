import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import type * as Form from '@fastify/busboy'
import { ApiError, badRequest, fileTooLarge } from '../../errors.ts'
import { lazily } from '../../lib/lazily.ts'
import { within } from '../../lib/work/within.ts'
import type { Parts } from '../../operation/parts.ts'
import { mediaTypeOf } from '../../storage/bytes/media-type.ts'
import { Upload } from '../../storage/bytes/upload.ts'
import { tooSlow } from './body.ts'

/** The most bytes that a form can contain besides its file. */
const FORM_BYTES = 65_536

const FORM = /^multipart\/form-data\s*;/i

/** Stores the body of a request while it arrives: the file itself, or a form with one file. */
export async function receiveUpload(
  message: IncomingMessage,
  project_id: string,
  { bytes, config }: Pick<Parts, 'bytes' | 'config'>,
): Promise<Upload> {
  const { 'content-type': type, 'content-length': length } = message.headers
  const { maxBytes } = config.files
  const isForm = type !== undefined && FORM.test(type)
  const bodyBytes = maxBytes + (isForm ? FORM_BYTES : 0)
  const limits = { bodyBytes, maxBytes, idleMs: config.server.requestTimeout }
  if (Number(length ?? 0) > bodyBytes) throw fileTooLarge(maxBytes)
  const body = bodyOf(message, limits)
  const form = isForm ? openForm(body, message.headers) : undefined
  const taken = await bytes.take(project_id, someOf(form?.pieces() ?? body, maxBytes))
  try {
    const { name, type: declared } = form?.file() ?? { name: undefined, type }
    return new Upload(taken, await mediaTypeOf(taken.head, declared), name)
  } catch (error) {
    await bytes.release(taken)
    throw error
  }
}

/** Refuses a file that is empty or too large. */
async function* someOf(pieces: AsyncIterable<Uint8Array>, maxBytes: number): AsyncGenerator<Uint8Array> {
  let size = 0
  for await (const piece of pieces) {
    size += piece.length
    if (size > maxBytes) throw fileTooLarge(maxBytes)
    if (piece.length > 0) yield piece
  }
  if (size === 0) throw badRequest('The file is empty.')
}

/** The limits: the body can have `bodyBytes`, and the file in it `maxBytes`. */
type Patience = { bodyBytes: number; maxBytes: number; idleMs: number }

/**
 * Yields the body piece by piece, no faster than it is consumed. A client that sends nothing for `idleMs` is
 * disconnected.
 */
async function* bodyOf(
  message: IncomingMessage,
  { bodyBytes, maxBytes, idleMs }: Patience,
): AsyncGenerator<Uint8Array> {
  // The connection is kept open for the answer, even if the rest of the body isn't needed.
  const pieces = message.iterator({ destroyOnReturn: false }) as AsyncIterableIterator<Buffer>
  let size = 0
  let isWaiting = false
  try {
    for (;;) {
      isWaiting = true
      const next = await within(idleMs, pieces.next(), tooSlow)
      isWaiting = false
      if (next.done) return
      size += next.value.length
      if (size > bodyBytes) throw fileTooLarge(maxBytes)
      yield next.value
    }
  } catch (error) {
    throw error === message.errored
      ? new ApiError('request_timeout', 'The request ended before its body was complete.')
      : error
  } finally {
    const ended = pieces.return?.().catch(() => {})
    // Waiting for a client that sends nothing more would take as long as its connection lasts.
    if (!isWaiting) await ended
  }
}

const busboy = lazily<typeof Form>('@fastify/busboy')

const ONE_FILE = 'The form must contain exactly one file. Except for `purpose`, send other fields in the query string.'

/** A field that OpenAI's clients send. It isn't stored. */
const PURPOSE = 'purpose'

/** Allows one part too many, because the form is refused when that part arrives. */
const LIMITS = { files: 1, fields: 1, parts: 3, headerPairs: 20, headerSize: 8_192, fieldSize: 1_024 }

type FormFile = { name: string | undefined; type: string | undefined }

/** The only file of a form. Its name and type are known once its first piece has arrived. */
type OpenForm = { pieces(): AsyncGenerator<Uint8Array>; file(): FormFile }

function openForm(body: AsyncIterable<Uint8Array>, headers: IncomingHttpHeaders): OpenForm {
  let file: FormFile = { name: undefined, type: undefined }
  return {
    file: () => file,
    async *pieces() {
      const parser = parserOf(headers)
      const source = Readable.from(body, { objectMode: false })
      const found = Promise.withResolvers<Readable>()
      const ended = Promise.withResolvers<void>()
      let content: Readable | undefined
      const fail = (error: Error) => {
        found.reject(error)
        ended.reject(error)
        content?.destroy(error)
        source.unpipe(parser)
      }
      const refuse = () => fail(badRequest(ONE_FILE))
      found.promise.catch(() => {})
      ended.promise.catch(() => {})
      parser.on('file', (_field, stream, name, _encoding, type) => {
        if (content) return refuse()
        content = stream
        file = { name, type }
        found.resolve(stream)
      })
      parser.on('field', (name) => name === PURPOSE || refuse())
      for (const limit of ['partsLimit', 'filesLimit', 'fieldsLimit'] as const) parser.on(limit, refuse)
      parser.on('error', () => fail(badForm()))
      parser.on('finish', () => {
        found.reject(badRequest(ONE_FILE))
        ended.resolve()
      })
      source.on('error', fail)
      source.pipe(parser)
      try {
        yield* await found.promise
        await ended.promise
      } catch (error) {
        // For a part that doesn't end, the parser throws its own error.
        throw error instanceof ApiError ? error : badForm()
      } finally {
        source.destroy()
      }
    },
  }
}

function parserOf(headers: IncomingHttpHeaders): Form.BusboyInstance {
  try {
    return new (busboy().Busboy)({ headers: headers as Form.BusboyHeaders, limits: LIMITS })
  } catch {
    throw badForm()
  }
}

function badForm(): ApiError {
  return badRequest(
    "The form can't be read. It must be multipart/form-data with a boundary, and end with that boundary.",
  )
}
