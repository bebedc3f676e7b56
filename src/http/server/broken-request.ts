import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { ApiError, type ErrorCode } from '../../errors.ts'
import { renderError, standardHeaders } from '../dialects/respond.ts'

export const HEADER_BYTES = 16_384

const PARSER_ERRORS: Record<string, [ErrorCode, string]> = {
  HPE_HEADER_OVERFLOW: ['headers_too_large', `The headers exceed ${HEADER_BYTES} bytes`],
  ERR_HTTP_REQUEST_TIMEOUT: ['request_timeout', 'The request took too long to arrive'],
}

/** Below the router there is a socket and nothing else; the client gets our envelope all the same. */
export function answerBrokenRequest(error: Error & { code?: string }, socket: Socket, request_id: string): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const [code, message] = PARSER_ERRORS[error.code ?? ''] ?? ['invalid_request', 'The request is not valid HTTP']
  const answer = () => answerRaw(socket, new ApiError(code, message), request_id)
  // A whole request is still to be answered on this socket: before that, ours would be taken for its reply.
  const pending = pendingReply(socket)
  if (pending?.req.complete && !pending.writableFinished) pending.once('finish', answer)
  else answer()
}

/** Node keeps the reply that a socket is busy with under this name, and says so nowhere else. */
function pendingReply(socket: Socket): ServerResponse | null | undefined {
  // oxlint-disable-next-line no-underscore-dangle
  return (socket as { _httpMessage?: ServerResponse | null })._httpMessage
}

function answerRaw(socket: Socket, error: ApiError, request_id: string): void {
  const { status, headers, body } = renderError(error, request_id)
  const all = {
    ...standardHeaders(request_id),
    ...headers,
    'Content-Length': Buffer.byteLength(body),
    Connection: 'close',
  }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`)
  socket.end(`HTTP/1.1 ${status} ${error.code}\r\n${lines.join('\r\n')}\r\n\r\n${body}`)
}

export function refuseConnect(socket: Socket, request_id: string): void {
  const headers = { Allow: 'GET, POST, PUT, PATCH, DELETE' }
  answerRaw(socket, new ApiError('method_not_allowed', 'CONNECT is not served', { headers }), request_id)
}
