import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import { ApiError } from '../../../errors.ts'
import type { ByteRange } from '../../../storage/bytes/byte-store.ts'
import type { Content } from '../../../storage/bytes/content.ts'
import { isKnown } from '../../input/request-headers.ts'
import { type ReplyWatch, send, sendLines } from './send.ts'

/** Matches a single range. Anything else, including several ranges, is ignored, as RFC 9110 allows. */
const RANGE = /^bytes=(\d{0,15})-(\d{0,15})$/

/** Sends the bytes that the client requests. Browsers never show them as a page, no matter what they contain. */
export async function sendContent(
  response: ServerResponse,
  headers: Record<string, string>,
  content: Content,
  watch: ReplyWatch,
): Promise<void> {
  const { name, media_type, size, sha256 } = content
  const asked = response.req.headers
  const own = {
    ETag: `"${sha256}"`,
    'Accept-Ranges': 'bytes',
    'Content-Type': media_type,
    'Content-Disposition': dispositionOf(name),
    'Content-Security-Policy': "sandbox; default-src 'none'",
    'Cross-Origin-Resource-Policy': 'same-origin',
  }
  if (isKnown(asked['if-none-match'], own.ETag)) {
    watch.begun(304)
    return send(response, headers, { status: 304, headers: own, body: '' })
  }
  const part = rangeOf(asked, content, own.ETag)
  const range = part ?? { start: 0, end: size - 1 }
  const sent = {
    ...own,
    'Content-Length': String(range.end + 1 - range.start),
    ...(part && { 'Content-Range': `bytes ${range.start}-${range.end}/${size}` }),
  }
  const reply = { status: part ? 206 : 200, headers: sent, body: '', lines: content.read(range) }
  return sendLines(response, headers, reply, watch)
}

/** The requested range. Undefined if the client wants everything. */
function rangeOf({ range, 'if-range': ifRange }: IncomingHttpHeaders, { size }: Content, etag: string) {
  // The content may have changed since the client received its part.
  if (range === undefined || (ifRange !== undefined && ifRange !== etag)) return undefined
  const [, first, last] = RANGE.exec(range) ?? []
  if (first === undefined || last === undefined || (first === '' && last === '')) return undefined
  const wanted: ByteRange =
    first === ''
      ? { start: Math.max(0, size - Number(last)), end: size - 1 }
      : { start: Number(first), end: last === '' ? size - 1 : Math.min(Number(last), size - 1) }
  if (last !== '' && Number(first) > Number(last) && first !== '') return undefined
  if (wanted.start < size && wanted.start <= wanted.end) return wanted
  throw new ApiError('range_not_satisfiable', `The file has only ${size} bytes.`, {
    headers: { 'Content-Range': `bytes */${size}` },
  })
}

/** The content disposition with the file's name as RFC 6266 defines it, and a simplified name for older clients. */
function dispositionOf(name: string): string {
  const plain = name.replaceAll(/[^\x20-\x7e]|["\\%]/gu, '_')
  const exact = encodeURIComponent(name).replaceAll(/['()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`)
  return `attachment; filename="${plain}"; filename*=UTF-8''${exact}`
}
