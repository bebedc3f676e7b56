import { existsSync, statfsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { type Config, ConfigError, loadConfig } from '../../../../config.ts'
import { loadMasterKey, masterKeyFingerprint } from '../../../../security/keyring.ts'
import { inspectPostgres, inspectSqlite, type StoreFacts } from '../../../../storage/inspect.ts'
import type { Common } from '../../../connect/connect.ts'
import { addressOf } from '../../../connect/service-address.ts'
import { clientOf, proxiedFetch } from '../../../connect/service-client.ts'
import type { World } from '../../../world.ts'

export type Finding = { check: string; status: 'ok' | 'warning' | 'failed'; detail: string }

const OLDEST_POSTGRES = 15
const ENOUGH_SPACE = 500 * 1024 ** 2
const TOLERABLE_SKEW_MS = 30_000

/** Examines this machine, its store and the service in use, without changing anything. */
export async function* examine(world: World, options: Common): AsyncGenerator<Finding> {
  yield ok('Node', process.version)
  const config = readConfig(world, options)
  if (config instanceof ConfigError) yield failed('configuration', config.problems.join('\n  '))
  else {
    yield ok('configuration', 'valid')
    yield* examineStore(config)
    if (config.redis.url) yield await examineRedis(config.redis.url)
  }
  yield* examineService(world, options)
}

function readConfig({ env, serviceFolder }: World, { config, data }: Common): Config | ConfigError {
  try {
    return loadConfig({ flags: { config, data }, env, cwd: serviceFolder }).config
  } catch (error) {
    if (error instanceof ConfigError) return error
    throw error
  }
}

async function* examineStore(config: Config): AsyncGenerator<Finding> {
  const { data, database } = config
  const file = join(data, 'moorage.db')
  if (!database.url && !existsSync(file)) {
    yield warning('store', `none in ${data} yet. The first start creates it`)
    return
  }
  if (existsSync(data)) yield* examineFolder(data)
  let facts: StoreFacts
  try {
    facts = database.url ? await inspectPostgres(database.url) : inspectSqlite(file)
  } catch (error) {
    yield failed('store', (error as Error).message)
    return
  }
  const { engine, schema_version, master_key } = facts
  const major = Number(/^PostgreSQL (\d+)/.exec(engine)?.[1] ?? OLDEST_POSTGRES)
  const version = schema_version === undefined ? 'not used yet' : `schema ${schema_version}`
  if (major < OLDEST_POSTGRES) yield failed('store', `${engine}: ${OLDEST_POSTGRES} or newer is required`)
  else yield ok('store', `${engine}, ${version}`)
  yield examineKey(config, master_key)
}

function* examineFolder(data: string): Generator<Finding> {
  const mode = statSync(data).mode & 0o777
  if (process.platform !== 'win32' && (mode & 0o077) !== 0) {
    yield failed(
      'data directory',
      `${data} has mode 0${mode.toString(8)}: other users can read it. Run chmod 700 ${data}`,
    )
  } else yield ok('data directory', data)
  const { bavail, bsize } = statfsSync(data)
  const free = bavail * bsize
  const text = `${Math.round(free / 1024 ** 2)} MiB free`
  yield free < ENOUGH_SPACE ? warning('disk', text) : ok('disk', text)
}

function examineKey({ masterKey, data }: Config, wanted: string | undefined): Finding {
  const origin = masterKey === undefined ? join(data, 'master.key') : 'configured'
  if (masterKey === undefined && !existsSync(origin)) {
    return wanted === undefined ? warning('master key', 'none yet') : failed('master key', `${origin} is missing`)
  }
  try {
    const found = masterKeyFingerprint(loadMasterKey({ masterKey, dataDir: data }))
    if (wanted === undefined || found === wanted) return ok('master key', `${origin} (${found})`)
    return failed('master key', `${origin} has the fingerprint ${found}, but the data is encrypted with ${wanted}`)
  } catch (error) {
    return failed('master key', (error as Error).message)
  }
}

async function examineRedis(url: string): Promise<Finding> {
  const { Redis } = await import('ioredis')
  const client = new Redis(url, { lazyConnect: true, retryStrategy: () => null, connectTimeout: 2_000 })
  // connect() itself reports only that the connection is closed, so the reason is taken from this event.
  let reason: string | undefined
  client.on('error', (error: Error) => {
    reason = error.message
  })
  try {
    await client.connect()
    await client.ping()
    return ok('Redis', 'answers')
  } catch (error) {
    return failed('Redis', reason ?? (error as Error).message)
  } finally {
    client.disconnect()
  }
}

async function* examineService(world: World, options: Common): AsyncGenerator<Finding> {
  const { url, key, origin } = addressOf(world, options)
  try {
    const started = Date.now()
    const response = await proxiedFetch(world)(new URL('/readyz', url).href, {
      signal: AbortSignal.any([world.signal, AbortSignal.timeout(5_000)]),
    })
    yield response.ok ? ok('service', `${url} is ready`) : failed('service', `${url} returns ${response.status}`)
    const skew = Math.abs(Date.parse(response.headers.get('date') ?? '') - (started + Date.now()) / 2)
    if (skew > TOLERABLE_SKEW_MS) yield warning('clock', `${Math.round(skew / 1000)} s apart from the service's clock`)
  } catch (error) {
    world.signal.throwIfAborted()
    const { cause, message } = error as Error & { cause?: { code?: string } }
    yield warning('service', `${url} can't be reached (${cause?.code ?? message})`)
    return
  }
  if (key === undefined) {
    yield warning('key', 'none. Run `moorage login`')
    return
  }
  try {
    const self = await clientOf(world, { url, key }).keys.self()
    yield ok('key', `${self.name ?? self.id} (${self.permissions.join(', ')}), from ${origin}`)
  } catch (error) {
    yield failed('key', (error as Error).message)
  }
}

const ok = (check: string, detail: string): Finding => ({ check, status: 'ok', detail })
const warning = (check: string, detail: string): Finding => ({ check, status: 'warning', detail })
const failed = (check: string, detail: string): Finding => ({ check, status: 'failed', detail })
