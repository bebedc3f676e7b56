import type { Logger } from '../../lib/log.ts'
import type { NodeWire } from './node-message.ts'

/** After a node could not reach Redis, all nodes take the detour for so long. */
const DETOUR_MS = 15_000

type Options = {
  url: string
  /** A name that only the nodes of this database share. */
  channel: string
  /** Another wire that all nodes hear. */
  detour: NodeWire
  seal: Seal
  log: Logger
}

/** Redis may be shared with others. They must not read what runs say, and what they say must not be heard. */
export type Seal = {
  close(message: string): string
  /** Throws if it was not closed by a node. */
  open(sealed: string): string
}

/**
 * Carries messages between nodes over Redis. While a node does not reach Redis, its messages take the detour. They
 * begin with `{` there, as those of a node that has no Redis; the others hear that and take the detour too. A message
 * that takes it only for their sake begins with a space, so that it does not keep anybody from going back to Redis.
 */
export async function openRedisWire({ url, channel, detour, seal, log }: Options) {
  // Loaded here, so that only services with a Redis wait for it.
  const { Redis } = await import('ioredis')
  const options = {
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    connectTimeout: 2_000,
    commandTimeout: 500,
    autoResubscribe: false,
    retryStrategy: (attempt: number) => Math.min(attempt * 200, 2_000),
  }
  const [speaker, hearer] = [new Redis(url, options), new Redis(url, options)]
  let hears = false
  let awayUntil = 0
  let detourUntil = 0
  for (const connection of [speaker, hearer]) {
    connection.on('error', (err) => log.debug({ err }, 'Redis carries nothing between nodes: PostgreSQL does'))
  }
  hearer.on('ready', () => {
    hearer.subscribe(channel).then(
      () => (hears = true),
      () => hearer.disconnect(true),
    )
  })
  hearer.on('close', () => (hears = false))

  const wire: NodeWire = {
    async publish(message) {
      const now = performance.now()
      if (hears && now >= Math.max(awayUntil, detourUntil)) {
        try {
          await speaker.publish(channel, seal.close(message))
          return
        } catch {
          awayUntil = now + DETOUR_MS
        }
      }
      await detour.publish(hears && now >= awayUntil ? ` ${message}` : message)
    },
    onMessage(listener) {
      hearer.on('message', (_channel, sealed) => {
        const message = openIfOurs(sealed, seal)
        if (message !== undefined) listener(message)
      })
      detour.onMessage((message) => {
        if (message.startsWith('{')) detourUntil = performance.now() + DETOUR_MS
        listener(message)
      })
    },
  }
  return {
    ...wire,
    /** Whether messages go over Redis now. */
    isOpen: () => hears && performance.now() >= Math.max(awayUntil, detourUntil),
    close() {
      for (const connection of [speaker, hearer]) connection.disconnect()
    },
  }
}

function openIfOurs(sealed: string, seal: Seal): string | undefined {
  try {
    return seal.open(sealed)
  } catch {
    return undefined
  }
}
