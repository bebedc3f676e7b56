import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { Config } from '../../config.ts'
import { ApiError, badRequest, invalid } from '../../errors.ts'
import { isObject } from '../../lib/json.ts'
import { isKept } from '../../lib/text/kept-number.ts'
import { within } from '../../lib/work/within.ts'
import type { Operation } from '../../operation.ts'

/** Requests with these methods have bodies that aren't read. */
export const UNREAD: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS'])
const JSON_TYPE = /^application\/json\s*(?:;\s*charset=(?:utf-8|"utf-8")\s*)?$/i
const MAX_DEPTH = 32
const MAX_FIELDS = 1_000
const COMMA = 0x2c
const QUOTE = 0x22
const BACKSLASH = 0x5c
const OPEN_BRACE = 0x7b
const OPEN_BRACKET = 0x5b
const CLOSE_BRACE = 0x7d
const CLOSE_BRACKET = 0x5d
const MINUS = 0x2d
const ZERO = 0x30
const NINE = 0x39
const OF_NUMBER = new Set(Buffer.from('0123456789.eE+-'))
/** Numbers with at most this many characters, such as 1e99, certainly keep their value in JavaScript. */
const SURE_CHARACTERS = 4
const TOKEN = /"(?:[^"\\]|\\.)*"|[[\]{},]/g

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** The limits of a body: the number of all values including nested ones, and of the elements in one list. */
export type JsonLimits = { values: number; elements: number }

/** A body of this size is parsed, checked and stored in less than 50 ms. */
const BODY_LIMITS: JsonLimits = { values: 20_000, elements: 10_000 }

/**
 * Stricter limits, because the protocols' SDKs need a quarter of a millisecond for some wrong values and don't stop at
 * the first one.
 */
export const PROTOCOL_LIMITS: JsonLimits = { values: 1_000, elements: 100 }

type WithBody = {
  message: Pick<IncomingMessage, 'headers'>
  route: { operation: Pick<Operation, 'input'> } | undefined
}

/** Bodies must be JSON in UTF-8, except for uploads. They are never decompressed or converted. */
export function checkBodyHeaders({ message: { headers }, route }: WithBody): void {
  const encoding = headers['content-encoding']
  if (encoding && encoding !== 'identity') {
    throw new ApiError('unsupported_media_type', 'Send the body uncompressed, without Content-Encoding.')
  }
  if (route?.operation.input?.upload) return
  const type = headers['content-type']
  if (type !== undefined && !JSON_TYPE.test(type) && hasBody(headers)) {
    throw new ApiError('unsupported_media_type', 'Send the body as application/json in UTF-8.')
  }
}

function hasBody(headers: IncomingHttpHeaders): boolean {
  return headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0'
}

/** How large a body can be, and how long it can take to arrive. */
export type BodyLimits = { limits: Pick<Config['limits'], 'body'>; server: Pick<Config['server'], 'requestTimeout'> }

/** The bytes of a request's body. Undefined if it has none, or for a GET. */
export async function readBytes(
  message: IncomingMessage,
  { limits: { body: limit }, server: { requestTimeout: timeoutMs } }: BodyLimits,
): Promise<Buffer | undefined> {
  const { headers, method = '' } = message
  if (UNREAD.has(method) || !hasBody(headers)) return undefined
  if (headers['content-type'] === undefined) {
    throw new ApiError('unsupported_media_type', 'Send the body as application/json.')
  }
  if (Number(headers['content-length'] ?? 0) > limit) throw tooLarge(limit)
  if (!message.complete) return within(timeoutMs, gather(message, limit), tooSlow)
  if (message.readableLength > limit) throw tooLarge(limit)
  const chunks: Buffer[] = []
  while (message.readableLength > 0) chunks.push(message.read() as Buffer)
  return chunks.length === 1 ? chunks[0] : Buffer.concat(chunks)
}

function gather(message: IncomingMessage, limit: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    const take = (chunk: Buffer) => {
      size += chunk.length
      chunks.push(chunk)
      if (size <= limit) return
      message.off('data', take)
      reject(tooLarge(limit))
    }
    message.on('data', take)
    message.once('end', () => resolve(Buffer.concat(chunks)))
    message.once('error', reject)
    // If a client disconnected before we listened, Node doesn't report it again.
    if (message.destroyed)
      reject(message.errored ?? new ApiError('request_timeout', 'The request ended before its body was complete.'))
  })
}

export function tooSlow(): ApiError {
  return new ApiError('request_timeout', "The request didn't arrive in time.")
}

function tooLarge(limit: number): ApiError {
  return new ApiError(
    'payload_too_large',
    `The request body can be at most ${limit} bytes (limits.body). Upload large files first and refer to them by file_id.`,
  )
}

/** The body isn't JSON at all. */
export class BrokenJson extends ApiError {
  constructor(message: string) {
    super('invalid_request', message)
  }
}

/** The request's body. If the body is optional and absent, this is an empty object. */
export function readBody({ input }: Pick<Operation, 'input'>, bytes: Buffer | undefined): unknown {
  if (bytes === undefined || bytes.length === 0) {
    if (!input?.body || input.bodyOptional) return {}
    throw badRequest('This operation requires a JSON body.')
  }
  const value = parseJson(bytes)
  // Many clients send an empty object if they have nothing to send.
  if (!input?.body && !(isObject(value) && Object.keys(value).length === 0))
    throw badRequest("This operation doesn't accept a body.")
  return value
}

/**
 * Parses strict JSON. Some bodies take long to parse or to check and would be refused anyway, for example 400,000
 * nested arrays or a list of 300,000 objects. They are refused by their bytes, before they are parsed.
 */
export function parseJson(bytes: Buffer, limits: JsonLimits = BODY_LIMITS, lossy: 'refuse' | 'as text' = 'refuse') {
  const lost = scanJson(bytes, limits)
  let text: string | undefined
  let value: unknown
  try {
    text = utf8.decode(bytes)
    value = JSON.parse(text)
  } catch {
    throw new BrokenJson(text === undefined ? 'The body is not valid UTF-8.' : 'The body is not valid JSON.')
  }
  // Only an escape can produce a NUL or half a surrogate pair, because the bytes are valid UTF-8 and JSON forbids raw
  // control characters.
  if (text.includes('\\u') || text.includes('__proto__')) refuseUnsafe(value)
  if (lost === undefined) return value
  if (lossy === 'as text') return JSON.parse(text, keptAsText as never) as unknown
  const field = fieldAfter(bytes.toString('utf8', 0, lost))
  throw invalid({ field, error: "is a number that can't be stored exactly; send it as a string" })
}

/** For senders that can't change what they send: numbers that JavaScript would change become strings. */
function keptAsText(_key: string, value: unknown, { source }: { source?: string }): unknown {
  return typeof value === 'number' && source !== undefined && !isKept(source) ? source : value
}

function refuseUnsafe(value: unknown): void {
  if (typeof value === 'string') {
    if (value.includes('\0')) throw badRequest("The body contains the character U+0000, which can't be stored.")
    if (!value.isWellFormed())
      throw badRequest('The body contains half of a surrogate pair, which is not a valid character.')
  } else if (value !== null && typeof value === 'object') {
    for (const [key, inner] of Object.entries(value)) {
      if (key === '__proto__') throw badRequest('The body contains a field named __proto__.')
      refuseUnsafe(key)
      refuseUnsafe(inner)
    }
  }
}

/**
 * What is open at each depth, and how many elements or fields may still follow there. All bodies share these arrays,
 * because new ones would cost more than most bodies do. That is safe because a body is scanned without a pause.
 */
const opened = new Uint8Array(MAX_DEPTH + 1)
const left = new Int32Array(MAX_DEPTH + 1)

/**
 * Refuses a body that is nested too deeply, is too wide or contains too many values. Returns where the first number
 * starts that JavaScript would change.
 */
function scanJson(bytes: Buffer, limits: JsonLimits): number | undefined {
  let depth = 0
  let values = 1
  let inString = false
  let lost: number | undefined
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i] as number
    if (inString) {
      if (byte === BACKSLASH) i++
      else if (byte === QUOTE) inString = false
    } else if (byte === QUOTE) {
      inString = true
    } else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
      if (++depth > MAX_DEPTH) throw badRequest(`The body can be nested at most ${MAX_DEPTH} levels deep.`)
      if (++values > limits.values) throw tooManyValues(limits)
      opened[depth] = byte
      left[depth] = byte === OPEN_BRACE ? MAX_FIELDS : limits.elements
    } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
      // An empty object or list contains no value.
      if (bytes[i - 1] === opened[depth]) values--
      depth--
    } else if (byte === COMMA && depth > 0) {
      if (++values > limits.values) throw tooManyValues(limits)
      left[depth] = (left[depth] as number) - 1
      if (left[depth] === 0) throw tooWide(opened[depth] === OPEN_BRACE, limits)
    } else if (byte === MINUS || (byte >= ZERO && byte <= NINE)) {
      let end = i + 1
      while (OF_NUMBER.has(bytes[end] as number)) end++
      // JavaScript represents every number with this few characters exactly.
      if (lost === undefined && end - i > SURE_CHARACTERS && !isKept(bytes.toString('latin1', i, end))) lost = i
      i = end - 1
    }
  }
  return lost
}

function tooManyValues({ values }: JsonLimits): ApiError {
  return badRequest(`The body can contain at most ${values} values, including nested ones.`)
}

function tooWide(hasNames: boolean, { elements }: JsonLimits): ApiError {
  return badRequest(
    hasNames
      ? `The body contains an object with more than ${MAX_FIELDS} fields.`
      : `The body contains a list with more than ${elements} elements.`,
  )
}

/** The path of the field at which the beginning of a JSON text ends, such as `context.amounts.2`. */
function fieldAfter(json: string): string {
  const path: (string | number)[] = []
  for (const [token] of json.matchAll(TOKEN)) {
    const last = path.at(-1)
    if (token === '{') path.push('')
    else if (token === '[') path.push(0)
    else if (token === '}' || token === ']') path.pop()
    else if (token !== ',') {
      if (typeof last === 'string') path[path.length - 1] = JSON.parse(token) as string
    } else if (typeof last === 'number') path[path.length - 1] = last + 1
  }
  return path.join('.') || '(body)'
}
