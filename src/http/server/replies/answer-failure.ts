import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { ApiError, type ErrorCode } from '../../../errors.ts'
import { reportRefusal } from '../../pipeline/report-refusal.ts'
import { toApiError } from '../../pipeline/to-api-error.ts'
import { arrive, type Front } from '../front.ts'
import { send } from './send.ts'

/** Answers every request that fails, wherever it failed. */
export function answerFailure(front: Front, error: unknown, request: FastifyRequest, reply: FastifyReply): void {
  const { audit, log } = front.edge.parts
  // Fastify may refuse a request before we have seen it.
  request.arrived ??= arrive(front, request, request.routeOptions.config.route)
  const { request_id, headers, dialect } = request.arrived
  const apiError = toApiError(fromFastify(error, request), log, request_id)
  reportRefusal(audit, request.arrived, apiError)
  front.requests.count(request.arrived, apiError.status)
  if (!front.requests.all && apiError.status >= 500) front.requests.answered(request, apiError.status)
  send(reply.headers(headers), dialect.error(apiError, request_id))
}

const FASTIFY_ERRORS: Record<string, [ErrorCode, string]> = {
  FST_ERR_CTP_BODY_TOO_LARGE: ['payload_too_large', 'The body is too large'],
  FST_ERR_CTP_INVALID_MEDIA_TYPE: ['unsupported_media_type', 'Send the body as application/json'],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: ['invalid_request', 'The body does not match its Content-Length'],
  FST_ERR_BAD_URL: ['invalid_request', 'The request target is not a valid path'],
  FST_ERR_CTP_EMPTY_TYPE: ['unsupported_media_type', 'Send the body as application/json'],
}

function fromFastify(error: unknown, { raw }: FastifyRequest): unknown {
  // The client is gone and hears nothing. This keeps the log from reporting a failure of the service.
  if (error === raw.errored) return new ApiError('request_timeout', 'The request was cut off')
  const known = FASTIFY_ERRORS[(error as FastifyError).code]
  return known ? new ApiError(...known) : error
}
