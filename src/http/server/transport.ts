import type { IncomingHttpHeaders } from 'node:http'
import { ApiError } from '../../errors.ts'
import type { Arrived } from '../pipeline/stages.ts'

const MAX_HEADERS = 100
const KEY_IN_URL = /(?:^|&)(?:api_key|apikey|access_token|key|token|secret)=/i
/** Sent twice, another party on the way may have acted on the other one. */
const ONCE = new Set(['host', 'authorization', 'content-type'])
/** Most names are told apart by their length alone. */
const LENGTHS_OF_ONCE = new Set([...ONCE].map(({ length }) => length))
const JSON_TYPE = /^application\/json\s*(?:;\s*charset=(?:utf-8|"utf-8")\s*)?$/i

/** What nothing behind it should ever see, and a key in the URL: it would end up in logs on the way here. */
export function checkTransport({ message, path, query }: Arrived): void {
  const { rawHeaders, httpVersion, headers } = message
  if (rawHeaders.length > MAX_HEADERS * 2) {
    throw new ApiError('headers_too_large', `More than ${MAX_HEADERS} headers`)
  }
  const seen: string[] = []
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const raw = rawHeaders[i] as string
    if (!LENGTHS_OF_ONCE.has(raw.length)) continue
    const name = raw.toLowerCase()
    if (!ONCE.has(name)) continue
    if (seen.includes(name)) throw badRequest(`The header ${name} is given more than once`)
    seen.push(name)
  }
  if (!seen.includes('host') && httpVersion === '1.1') throw badRequest('The request needs one Host header')
  const coding = headers['transfer-encoding']
  // Node takes the chunks apart and leaves every other coding in place: the body would not be what it seems.
  if (coding !== undefined && coding.toLowerCase() !== 'chunked') {
    throw badRequest('The only Transfer-Encoding that is understood is chunked')
  }
  if (!path.startsWith('/') || path.includes('#') || path.includes('%00') || query.includes('%00')) {
    throw badRequest('The request target is not a valid path')
  }
  if (query !== '' && KEY_IN_URL.test(query)) {
    throw badRequest('Never send a key in the URL: send it as Authorization: Bearer <key>')
  }
}

/** Bodies are JSON in UTF-8, as they are: nothing is inflated or recoded. */
export function checkBodyHeaders({ message: { headers } }: Arrived): void {
  const encoding = headers['content-encoding']
  if (encoding && encoding !== 'identity') {
    throw new ApiError('unsupported_media_type', 'Send the body without encoding')
  }
  const type = headers['content-type']
  if (type !== undefined && hasBody(headers) && !JSON_TYPE.test(type)) {
    throw new ApiError('unsupported_media_type', 'Send the body as application/json in UTF-8')
  }
}

function hasBody(headers: IncomingHttpHeaders): boolean {
  return headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0'
}

function badRequest(message: string): ApiError {
  return new ApiError('invalid_request', message)
}
