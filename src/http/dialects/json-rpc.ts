import { type ApiError, badRequest, type ErrorCode } from '../../errors.ts'
import { BrokenJson } from '../input/body.ts'
import type { RenderedReply } from './dialect.ts'

type RpcError = { code: number; message: string; data: Record<string, unknown> }

const PARSE_ERROR = -32_700
const INVALID_REQUEST = -32_600
export const INVALID_PARAMS = -32_602
export const INTERNAL_ERROR = -32_603
const MAX_ID_CHARACTERS = 256
/** The first of the codes that JSON-RPC reserves for servers. */
const SERVER_ERROR = -32_000

const CODE_OF: Partial<Record<ErrorCode, number>> = {
  invalid_request: INVALID_REQUEST,
  server_error: INTERNAL_ERROR,
  output_invalid: INTERNAL_ERROR,
}

/** Our error in JSON-RPC's form. What our own dialect says about it is in `data`. */
export function rpcError(error: ApiError, request_id: string): RpcError {
  const { code, message, status, details, retry_after } = error
  const data = {
    code,
    status,
    request_id,
    ...(retry_after !== undefined && { retry_after }),
    ...(details && { details }),
  }
  const isBroken = error instanceof BrokenJson
  return { code: isBroken ? PARSE_ERROR : (CODE_OF[code] ?? SERVER_ERROR), message, data }
}

/** The message with every wrong field, for clients that don't show the details. */
export function wordsOf({ message, details = [] }: ApiError): string {
  return [message, ...details.map(({ field, error: problem }) => `${field}: ${problem}`)].join('\n')
}

/** Answers a request that was refused before its message was read, so its ID is unknown. */
export function renderRpcError(error: ApiError, request_id: string): RenderedReply {
  const body = JSON.stringify({ jsonrpc: '2.0', id: null, error: rpcError(error, request_id) })
  return { status: error.status, headers: error.headers, body }
}

/**
 * Refuses long IDs. Every event about a request repeats the ID that its client chose, so with a long ID one request
 * could cause gigabytes of traffic.
 */
export function requireShortNames(...names: unknown[]): void {
  if (names.every((name) => typeof name !== 'string' || name.length <= MAX_ID_CHARACTERS)) return
  throw badRequest(`An ID or progress token can have at most ${MAX_ID_CHARACTERS} characters.`)
}
