import type { Logger } from '../../lib/log.ts'
import { localLimiter, type RateLimiter } from './rate-limiter.ts'
import { sharedLimiter } from './shared-limiter.ts'

/** How often it is said that Redis does not answer. */
const WARN_EVERY_MS = 60_000

/** Rates are counted in Redis, for all nodes together, where there is one. */
export async function openLimiter(url: string | undefined, now: () => number, log: Logger): Promise<RateLimiter> {
  const local = localLimiter(now)
  if (url === undefined) return local
  // Loaded here, so that only services with a Redis wait for it.
  const { Redis } = await import('ioredis')
  const connection = new Redis(url, {
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    commandTimeout: 500,
    connectTimeout: 2_000,
    retryStrategy: (attempt) => Math.min(attempt * 200, 2_000),
  })
  let warned = 0
  const degraded = (err: unknown) => {
    if (now() - warned < WARN_EVERY_MS) return
    warned = now()
    log.warn({ err }, 'Redis does not answer: this node limits rates by its own share until it does')
  }
  connection.on('error', degraded)
  return sharedLimiter(connection, local, degraded)
}
