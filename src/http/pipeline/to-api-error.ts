import { ApiError, invalid, unavailable } from '../../errors.ts'
import type { Logger } from '../../lib/log.ts'
import { BytesUnavailableError, MissingBytesError } from '../../storage/bytes/byte-store.ts'
import { DamagedRowError } from '../../storage/damaged-rows.ts'
import { isOvertaken, isPassing } from '../../storage/failures.ts'
import { BacklogFullError } from '../../storage/journal/journal.ts'
import { MAX_SORTED, TooLongToSortError } from '../../storage/queries/page.ts'
import { ReadTimeoutError } from '../../storage/read-limits.ts'

/**
 * Converts any error into one that the client may see. For an unexpected error, the client learns only that it was not
 * at fault.
 */
export function toApiError(error: unknown, log: Logger, request_id: string): ApiError {
  if (error instanceof ApiError) return error
  if (error instanceof TooLongToSortError) {
    const problem = `more than ${MAX_SORTED} items match, which is too many to sort by ${error.field}; add filters, or sort by ${error.order}`
    return invalid({ field: 'sort', error: problem })
  }
  if (error instanceof BacklogFullError)
    return unavailable('The service is overloaded. Try again shortly.', 1000, error)
  if (error instanceof ReadTimeoutError) {
    log.warn({ request_id, err: error }, 'a read took too long')
    return new ApiError(
      'timeout',
      'Reading took too long and was cancelled. Ask for less at a time, for example a shorter time range.',
    )
  }
  if (isPassing(error)) {
    log.error({ request_id, err: error }, 'the database is not available')
    return unavailable('The database is not available. Try again shortly.', 1000, error)
  }
  if (isOvertaken(error)) {
    log.warn({ request_id, err: error }, 'a request conflicted with another one')
    return unavailable('Another request changed the same data at the same time. Try again.', 1000, error)
  }
  if (error instanceof BytesUnavailableError) {
    log.error({ request_id, err: error }, 'files cannot be stored or read at the moment')
    return unavailable("Files can't be stored or read right now. Try again shortly.", 1000, error)
  }
  if (error instanceof MissingBytesError) {
    log.error({ request_id, problem: error.message }, 'the bytes of a file are missing or damaged')
    return new ApiError('server_error', "This file's bytes are missing or damaged.")
  }
  if (error instanceof DamagedRowError) {
    log.error({ request_id, problem: error.message }, 'a request failed because stored data is damaged')
    return new ApiError('server_error', error.message)
  }
  log.error({ request_id, err: error }, 'a request failed')
  return new ApiError('server_error', 'Internal server error.')
}
