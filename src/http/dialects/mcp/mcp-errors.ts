import { type CallToolResult, INVALID_PARAMS, ProtocolError } from '@modelcontextprotocol/server'
import { ApiError, type ErrorCode } from '../../../errors.ts'
import { rpcError, wordsOf } from '../json-rpc.ts'

/** Errors that a model can't do anything about. */
const REFUSALS = new Set<ErrorCode>(['unauthorized', 'mfa_required', 'forbidden', 'https_required', 'not_found'])

/** Whether the model is shown the error as the result of its call, so that it can try something else. */
export function isForModel(error: unknown): error is ApiError {
  return error instanceof ApiError && !REFUSALS.has(error.code)
}

export function failedResult(error: ApiError, request_id: string): CallToolResult {
  return {
    isError: true,
    content: [{ type: 'text', text: wordsOf(error) }],
    _meta: { error: rpcError(error, request_id).data },
  }
}

/** The error in the protocol's form. */
export function protocolError(error: unknown, request_id: string): unknown {
  if (!(error instanceof ApiError)) return error
  const { code, message, data } = rpcError(error, request_id)
  // The protocol has the same code for a wrong parameter and for an unknown tool.
  const isParameter = error.code === 'not_found' || error.code === 'invalid_request'
  return new ProtocolError(isParameter ? INVALID_PARAMS : code, message, data)
}
