import { ApiError, badRequest } from '../../errors.ts'
import { hasBody } from '../input/read-bytes.ts'
import type { Arrived } from '../pipeline/request.ts'

const MAX_HEADERS = 100
const KEY_IN_URL = /(?:^|&)(?:api_key|apikey|access_token|key|token|secret)=/i
/** Headers that may occur once. If one is sent twice, a proxy on the way may have used the other value. */
const ONCE = new Set(['host', 'authorization', 'content-type'])
/** Most header names can be skipped by their length alone. */
const LENGTHS_OF_ONCE = new Set([...ONCE].map(({ length }) => length))
const JSON_TYPE = /^application\/json\s*(?:;\s*charset=(?:utf-8|"utf-8")\s*)?$/i

/**
 * Refuses what no later step should ever see. It also refuses a key in the URL, because URLs end up in the logs of
 * proxies.
 */
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
  // Node decodes chunks and no other coding: with another one the body would not be what it seems.
  if (coding !== undefined && coding.toLowerCase() !== 'chunked') {
    throw badRequest('The only Transfer-Encoding that is understood is chunked')
  }
  if (!path.startsWith('/') || path.includes('#') || path.includes('%00') || query.includes('%00')) {
    throw badTarget()
  }
  if (query !== '' && KEY_IN_URL.test(query)) {
    throw badRequest('Never send a key in the URL: send it as Authorization: Bearer <key>')
  }
}

/** Bodies must be JSON in UTF-8, except for uploads. We neither decompress nor convert them. */
export function checkBodyHeaders({ message: { headers }, route }: Arrived): void {
  const encoding = headers['content-encoding']
  if (encoding && encoding !== 'identity') {
    throw new ApiError('unsupported_media_type', 'Send the body without encoding')
  }
  if (route?.operation.upload) return
  const type = headers['content-type']
  if (type !== undefined && hasBody(headers) && !JSON_TYPE.test(type)) {
    throw new ApiError('unsupported_media_type', 'Send the body as application/json in UTF-8')
  }
}

export function badTarget(): ApiError {
  return badRequest('The request target is not a valid path')
}

export function lostId(): ApiError {
  return badRequest('The path ends with a slash where an id is expected')
}
