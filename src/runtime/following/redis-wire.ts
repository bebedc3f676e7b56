import type { Logger } from '../../lib/log.ts'
import type { NodeWire } from './node-message.ts'

type Options = {
  url: string
  /** A channel name that only the nodes of this database use. */
  channel: string
  seal: Seal
  log: Logger
}

/**
 * Encrypts messages, because other programs may use the same Redis. They must not be able to read what runs say, and
 * messages from them must not be accepted.
 */
export type Seal = {
  close(message: string): string
  /** Throws if the message wasn't encrypted by one of our nodes. */
  open(sealed: string): string
}

/**
 * Carries messages between nodes over Redis. Messages are lost while Redis is unavailable, but receipts contain
 * everything that runs have said.
 */
export async function openRedisWire({ url, channel, seal, log }: Options): Promise<NodeWire & { close(): void }> {
  // Loaded here, so that only services with Redis wait for it.
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
  for (const connection of [speaker, hearer]) {
    connection.on('error', (err) => log.debug({ err }, "Redis is not available, so run events don't reach other nodes"))
  }
  hearer.on('ready', () => {
    hearer.subscribe(channel).catch(() => hearer.disconnect(true))
  })
  return {
    async publish(message) {
      await speaker.publish(channel, seal.close(message))
    },
    onMessage(listener) {
      hearer.on('message', (_channel, sealed) => {
        const message = openIfOurs(sealed, seal)
        if (message !== undefined) listener(message)
      })
    },
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
