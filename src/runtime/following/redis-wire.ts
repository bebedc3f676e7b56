import type { Logger } from '../../lib/log.ts'
import type { NodeWire } from './node-message.ts'

type Options = {
  url: string
  /** A name that only the nodes of this database have. */
  channel: string
  seal: Seal
  log: Logger
}

/**
 * Others may use the same Redis. They must not be able to read what runs say, and their messages must not be accepted.
 */
export type Seal = {
  close(message: string): string
  /** Throws if no node of ours encrypted it. */
  open(sealed: string): string
}

/**
 * Carries messages between nodes over Redis. They are lost while Redis is unavailable; the receipts contain what runs
 * have said.
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
