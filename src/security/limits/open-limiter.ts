import type { Logger } from '../../lib/log.ts'
import { Outage } from '../../lib/work/outage.ts'
import { localLimiter, type RateLimiter } from './rate-limiter.ts'
import { sharedLimiter } from './shared-limiter.ts'

/** `isShared` says whether all nodes currently count together. It is undefined without Redis. */
export type OpenLimiter = RateLimiter & { isShared?: () => boolean }

type LimiterNeeds = {
  now: () => number
  log: Logger
  /** How many nodes serve the same database. */
  nodes: { readonly live: number }
  /** The name of this installation in Redis. */
  name(): Promise<string>
}

/** Opens the limiter. If there is Redis, rates are counted there for all nodes together. */
export async function openLimiter(
  url: string | undefined,
  { now, log, nodes, name }: LimiterNeeds,
): Promise<OpenLimiter> {
  const local = localLimiter(now)
  if (url === undefined) return local
  // Loaded here, so that only services with Redis wait for it.
  const { Redis } = await import('ioredis')
  const connection = new Redis(url, {
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    connectTimeout: 2_000,
    // If a command gets no reply for this time, the connection is reopened, even if it is new.
    socketTimeout: 5_000,
    retryStrategy: (attempt) => Math.min(attempt * 200, 2_000),
  })
  const outage = new Outage(log, now, {
    level: 'warn',
    lost: "Redis isn't responding, so this node limits requests to its own share",
    back: 'Redis is responding again, so the nodes share their rate limits',
  })
  connection.on('error', (err) => outage.failed(err))
  const sharing = { name: await name(), local, outage, nodes: () => nodes.live }
  return { ...sharedLimiter(connection, sharing), isShared: () => !outage.isOn }
}
