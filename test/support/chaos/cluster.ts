import { randomBytes } from 'node:crypto'
import type { TestContext } from 'node:test'
import { newKey } from '../../../src/security/key-format.ts'
import type { Database } from '../../../src/storage/database.ts'
import { openStorage } from '../../../src/storage/open-storage.ts'
import { LOCAL_TOOLS } from '../outside/local-server.ts'
import { type ChildService, startChildService } from '../service/child-service.ts'
import type { Settings } from '../service/service.ts'
import { LOCAL_RECEIVERS } from '../slices/webhooks.ts'
import { type PostgresServer, startPostgres } from '../stores/postgres.ts'
import { type RedisServer, startRedis } from '../stores/redis.ts'

/** One process of the service, and how it last stopped and started. */
export type ClusterNode = {
  name: string
  service: ChildService
  isUp: boolean
  wasKilled: boolean
  upSince: number
}

export type Cluster = {
  nodes: ClusterNode[]
  postgres: PostgresServer
  redis: RedisServer
  admin: string
  /** kill -9. */
  kill(node: ClusterNode): Promise<void>
  /** Sends SIGTERM, and waits until the process is gone. */
  terminate(node: ClusterNode): Promise<void>
  start(node: ClusterNode): Promise<void>
  db: Database
}

/** Real processes with their own PostgreSQL and Redis. All of it is removed when the test ends. */
export async function startCluster(t: TestContext, names: readonly string[], more: Settings = {}): Promise<Cluster> {
  const postgres = await startPostgres()
  t.after(() => postgres.close())
  const redis = await startRedis()
  t.after(() => redis.close())
  const admin = newKey(randomBytes)
  const settings = {
    ...LOCAL_RECEIVERS,
    DATABASE_URL: postgres.url,
    REDIS_URL: redis.url,
    MOORAGE_MASTER_KEY: randomBytes(32).toString('base64'),
    MOORAGE_INIT_KEY: admin,
    ...LOCAL_TOOLS,
    MOORAGE_LIMITS__TIERS: '{"enterprise":{"requestsPerMinute":10000000,"burst":10000000}}',
    MOORAGE_SERVER__DRAIN_DELAY: '200ms',
    LOG_LEVEL: 'warn',
    ...more,
  }
  const nodes: ClusterNode[] = []
  for (const name of names) {
    const service = await startChildService(t, 'postgres', settings)
    nodes.push({ name, service, isUp: true, wasKilled: false, upSince: 0 })
  }
  const storage = await openStorage({ data: '', database: { url: postgres.url, poolSize: 2 } })
  t.after(() => storage.close())
  return {
    nodes,
    postgres,
    redis,
    admin,
    async kill(node) {
      Object.assign(node, { isUp: false, wasKilled: true })
      await node.service.kill()
    },
    async terminate(node) {
      Object.assign(node, { isUp: false, wasKilled: false })
      const code = await node.service.terminate()
      if (code !== 0) throw new Error(`${node.name} ended with ${code}:\n${node.service.output().slice(-2_000)}`)
    },
    async start(node) {
      await node.service.start()
      Object.assign(node, { isUp: true, upSince: performance.now() })
    },
    db: storage.db,
  }
}
