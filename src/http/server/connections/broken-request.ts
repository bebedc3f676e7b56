import type { Socket } from 'node:net'
import { ApiError, type ErrorCode } from '../../../errors.ts'
import { dialects } from '../../dialects/dialects.ts'

export const HEADER_BYTES = 16_384

const PARSER_ERRORS: Record<string, [ErrorCode, string]> = {
  HPE_HEADER_OVERFLOW: ['headers_too_large', `The headers can be at most ${HEADER_BYTES} bytes.`],
  ERR_HTTP_REQUEST_TIMEOUT: ['request_timeout', "The request didn't arrive in time."],
}

/** The reply to a request that Node couldn't parse. */
export function parserError({ code: parserCode = '' }: Error & { code?: string }): ApiError {
  const [code, message] = PARSER_ERRORS[parserCode] ?? ['invalid_request', 'The request is not valid HTTP.']
  return new ApiError(code, message)
}

export function connectRefusal(): ApiError {
  const headers = { Allow: 'GET, POST, PUT, PATCH, DELETE' }
  return new ApiError('method_not_allowed', 'CONNECT is not supported.', { headers })
}

/** How long a client has to read such a reply and close the connection. */
const CLOSES_WITHIN_MS = 2_000

/**
 * Answers a request that the router never saw, so there is only a socket to write to. The client still gets our
 * envelope. The socket is then closed, even if the client never closes its side or hasn't finished the TLS handshake.
 */
export function answerRaw(socket: Socket, error: ApiError, request_id: string): void {
  const [dialect] = dialects
  const { status, headers, body } = dialect.error(error, request_id)
  const all = {
    ...dialect.headers(request_id),
    ...headers,
    'Content-Length': Buffer.byteLength(body),
    Connection: 'close',
  }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`)
  const force = setTimeout(() => socket.destroy(), CLOSES_WITHIN_MS)
  socket.once('close', () => clearTimeout(force))
  socket.end(`HTTP/1.1 ${status} ${error.code}\r\n${lines.join('\r\n')}\r\n\r\n${body}`)
}
