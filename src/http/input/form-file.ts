import type { IncomingHttpHeaders } from 'node:http'
import { Readable } from 'node:stream'
import type * as Form from '@fastify/busboy'
import { ApiError, badRequest } from '../../errors.ts'
import { lazily } from '../../lib/lazily.ts'

const busboy = lazily<typeof Form>('@fastify/busboy')

const ONE_FILE = 'The form must contain exactly one file. Except for `purpose`, send other fields in the query string.'

/** A field that OpenAI's clients send. It isn't stored. */
const PURPOSE = 'purpose'

/** Allows one part too many, because the form is refused when that part arrives. */
const LIMITS = { files: 1, fields: 1, parts: 3, headerPairs: 20, headerSize: 8_192, fieldSize: 1_024 }

type FormFile = { name: string | undefined; type: string | undefined }

/** The only file of a form. Its name and type are known once its first piece has arrived. */
type OpenForm = { pieces(): AsyncGenerator<Uint8Array>; file(): FormFile }

export function openForm(body: AsyncIterable<Uint8Array>, headers: IncomingHttpHeaders): OpenForm {
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
