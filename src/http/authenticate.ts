import { ApiError } from '../errors.ts'
import type { Actor } from '../operation.ts'
import { addressBucket } from '../security/ip-list.ts'
import type { RateLimiter } from '../security/rate-limiter.ts'
import type { Exchange } from './exchange.ts'

export type Verify = (token: string) => Actor | undefined | Promise<Actor | undefined>

const BEARER = /^Bearer ([\x21-\x7e]{1,8192})$/i

/** Finds the actor behind the Authorization header. Whatever is wrong with it, the answer is the same. */
export function authenticator(verify: Verify, limiter: RateLimiter, failuresPerMinute: number) {
  const rate = { perMinute: failuresPerMinute, burst: failuresPerMinute }

  return async (exchange: Exchange): Promise<void> => {
    const token = BEARER.exec(exchange.request.headers.authorization ?? '')?.[1]
    const found = token === undefined ? undefined : verify(token)
    const actor = found instanceof Promise ? await found : found
    if (actor) {
      exchange.actor = actor
      return
    }
    const { allowed, retry_after_ms } = await limiter.take(`auth:${addressBucket(exchange.address)}`, rate)
    if (allowed) throw unauthorized()
    throw new ApiError('rate_limited', 'Too many failed authentications from this address', {
      retry_after: Math.ceil(retry_after_ms / 1000),
    })
  }
}

function unauthorized(): ApiError {
  return new ApiError('unauthorized', 'Missing or invalid API key. Send it as: Authorization: Bearer <key>', {
    headers: { 'WWW-Authenticate': 'Bearer realm="moorage"' },
  })
}
