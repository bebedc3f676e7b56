import { ApiError, unavailable } from '../../../errors.ts'
import type { Keyring } from '../../../security/keyring.ts'
import type { StoredReply } from '../../../storage/leases/claims.ts'
import type { RenderedReply } from '../../dialects/dialect.ts'

const PURPOSE = 'idempotency'
export const REPLAYED = 'Idempotent-Replayed'

export function isReplay(headers: Record<string, string>): boolean {
  return REPLAYED in headers
}

/** The reply as it is stored for retries. If it contains a secret, it is encrypted. */
export function storedReply(reply: RenderedReply, secret: boolean, keyring: Keyring): StoredReply {
  return { ...reply, body: secret ? keyring.encrypt(reply.body, PURPOSE) : reply.body }
}

/** What a retry gets: the reply to the first request, and a header that says so. */
export function replayOf({ status, headers, body }: StoredReply, secret: boolean, keyring: Keyring): RenderedReply {
  if (body === '') throw new ApiError('not_found', 'The stored reply for this Idempotency-Key has been erased.')
  return {
    status,
    headers: { ...headers, [REPLAYED]: 'true' },
    body: secret ? keyring.decrypt(body, PURPOSE) : body,
  }
}

export function keyReused(): ApiError {
  return new ApiError(
    'idempotency_key_reused',
    'This Idempotency-Key was already used with a different request. Use a new key.',
  )
}

export function keyInUse(): ApiError {
  return new ApiError('idempotency_key_in_use', 'A request with this Idempotency-Key is still in progress.', {
    retry_after: 1,
  })
}

/** The error for a retry whose run ended because the service stops. Starting another run would be pointless. */
export function serviceStops(): ApiError {
  return unavailable('The service is shutting down. Try again shortly.')
}
