import type { ApiError } from '../../../errors.ts'
import type { RenderedReply } from '../dialect.ts'
import { rpcError, wordsOf } from '../json-rpc.ts'

type A2aErrorName = { code: number; reason: string }

const TASK_NOT_FOUND: A2aErrorName = { code: -32_001, reason: 'TASK_NOT_FOUND' }
const CONTENT_TYPE_NOT_SUPPORTED: A2aErrorName = { code: -32_005, reason: 'CONTENT_TYPE_NOT_SUPPORTED' }

/** Answers a request that was refused before its message was read, so its ID is unknown. */
export function renderA2aError(error: ApiError, request_id: string): RenderedReply {
  const body = JSON.stringify({ jsonrpc: '2.0', id: null, error: toA2a(error, request_id) })
  return { status: error.status, headers: error.headers, body }
}

/** Our error in the protocol's form. What our own dialect says about it becomes the metadata of the error's detail. */
export function toA2a(error: ApiError, request_id: string) {
  const { code, data } = rpcError(error, request_id)
  const named = namedBy(error)
  const detail = {
    '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
    reason: named?.reason ?? error.code.toUpperCase(),
    domain: named ? 'a2a-protocol.org' : 'moorage',
    metadata: Object.fromEntries(Object.entries(data).map(([name, value]) => [name, textOf(value)])),
  }
  return { code: named?.code ?? code, message: wordsOf(error), data: [detail] }
}

/**
 * The protocol's own name for the error, if it has one. Anything missing below an agent is a task or part of a task.
 */
function namedBy({ code, missing }: ApiError): A2aErrorName | undefined {
  if (code === 'unsupported_media_type') return CONTENT_TYPE_NOT_SUPPORTED
  return code === 'not_found' && missing !== undefined && missing !== 'Agent' ? TASK_NOT_FOUND : undefined
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}
