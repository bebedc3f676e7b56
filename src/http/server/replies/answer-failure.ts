import type { ServerResponse } from 'node:http'
import { ApiError } from '../../../errors.ts'
import { UNREAD } from '../../input/body.ts'
import { reportRefusal } from '../../pipeline/report-refusal.ts'
import type { Arrived } from '../../pipeline/request.ts'
import { toApiError } from '../../pipeline/to-api-error.ts'
import type { Front } from '../front.ts'
import { withChallenge } from '../protected-resource.ts'
import { send, sendEarly } from './send.ts'

/** How long a client may go on sending what is dropped. It may have no key at all. */
const DROPPED_FOR_MS = 2_000
/** The same for a client that may upload, and whose file is too large. */
const FILE_DROPPED_FOR_MS = 30_000

/** Answers every request that fails, wherever it failed. */
export function answerFailure(front: Front, error: unknown, arrived: Arrived, response: ServerResponse): void {
  const { audit, config, log } = front.edge.parts
  const { request_id, headers, dialect, message } = arrived
  // The client is gone, so this is no failure of the service, and is not logged as one.
  const isCutOff = error === message.errored
  const apiError = isCutOff
    ? new ApiError('request_timeout', 'The request ended before its body was complete.')
    : toApiError(error, log, request_id)
  reportRefusal(audit, arrived, apiError)
  front.requests.count(arrived, apiError.status)
  if (!front.requests.all && apiError.status >= 500) front.requests.answered(arrived, apiError.status)
  if (response.headersSent) return void response.destroy()
  // What else arrives on this connection belongs to this body: no other request is read from it.
  if (!message.complete) headers['Connection'] = 'close'
  const refusal = dialect.error(apiError, request_id)
  const answer = apiError.code === 'unauthorized' ? withChallenge(refusal, arrived, config) : refusal
  if (message.complete || message.destroyed || UNREAD.has(message.method ?? '')) return send(response, headers, answer)
  const isLargeFile = arrived.route?.operation.input?.upload === true && apiError.code === 'payload_too_large'
  sendEarly(response, headers, answer, isLargeFile ? FILE_DROPPED_FOR_MS : DROPPED_FOR_MS)
}
