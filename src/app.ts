import { Redis } from 'ioredis'
import { openAccess } from './access.ts'
import { type OpenTrail, openTrail } from './audit/trail.ts'
import { freeLeases, startBackground } from './background.ts'
import type { Config } from './config.ts'
import { type FirstStart, firstStart } from './first-start.ts'
import { idempotency } from './http/pipeline/idempotency.ts'
import { createServer } from './http/server/server.ts'
import { keepRuns } from './invocations/tend-runs.ts'
import { spendCode } from './keys/factors/spend-code.ts'
import { keyVerifier } from './keys/verify-key.ts'
import { idSource } from './lib/id.ts'
import { createLog, type Logger } from './lib/log.ts'
import { WarmRecall } from './memory/recall.ts'
import type { Parts } from './operation/parts.ts'
import { operations } from './operations.ts'
import { LiveRuns } from './runtime/live-runs.ts'
import { openEmbedder } from './runtime/models/embedder.ts'
import { createRuntime } from './runtime/runtime.ts'
import { knownSecrets } from './secrets/known-secrets.ts'
import { localLimiter, type RateLimiter, sharedLimiter } from './security/limits/rate-limiter.ts'
import { GuardedClient, type OutgoingPolicy } from './security/outgoing/guarded-client.ts'
import { deprecatedOpenings, policiesOf } from './security/outgoing/policies.ts'
import { fingerprint, keyring, loadMasterKey } from './security/secrets.ts'
import type { Jobs } from './storage/jobs/run-jobs.ts'
import { openJournal } from './storage/journal/journal.ts'
import { nodeName } from './storage/lease.ts'
import { openMemo } from './storage/memo.ts'
import { openStorage } from './storage/open-storage.ts'
import { lockFolder } from './storage/sqlite/lock.ts'
import { findSetting, settle } from './storage/stored-settings.ts'
import { WriteProbe } from './storage/write-probe.ts'
import { Dispatcher } from './webhooks/delivery/deliver.ts'
import { openEvents } from './webhooks/emit-events.ts'

export type App = FirstStart & {
  url: string
  engine: 'sqlite' | 'postgres'
  parts: Parts
  jobs: Jobs
  /** Ready → draining → what runs has finished → everything is closed. */
  stop(): Promise<void>
}

/** A test hands in its own clock or log, and its own world to call out to. */
export type Overrides = {
  /** Which kind of process this is, to others that use the store at the same time. */
  kind?: 'service' | 'cli'
  now?: () => number
  log?: Logger
  outgoing?: Pick<OutgoingPolicy, 'lookup' | 'nameservers' | 'ca'>
  lingerMs?: number
}

const HOUSEKEEPING_MS = 30_000
/** How long a stop waits for requests that are on their way on idle connections. */
const LINGER_MS = 1_000
/** How long a cancelled run's client may take to hear of it. */
const LAST_WORDS_MS = 1_000

/** Everything below HTTP: what the command line on the host needs too. */
export async function buildParts(
  config: Config,
  overrides: Overrides = {},
): Promise<{ parts: Parts & { audit: OpenTrail }; close(): Promise<void> }> {
  const now = overrides.now ?? Date.now
  const log = overrides.log ?? createLog(config.log)
  const storage = await openStorage(config)
  try {
    const isNew = (await findSetting(storage.db, 'master_key')) === undefined
    const masterKey = loadMasterKey({ masterKey: config.masterKey, dataDir: config.data, isNew })
    const known = await settle(storage.db, 'master_key', fingerprint(masterKey))
    if (known.value !== fingerprint(masterKey)) {
      throw new Error(
        'this database was written with another master key: set MOORAGE_MASTER_KEY to that one, or put its master.key back into the data directory',
      )
    }
    const newId = idSource()
    const events = openEvents(storage, newId)
    const journal = openJournal(storage, { backlog: config.limits.backlog })
    journal.onWritten(events.wake)
    const policies = policiesOf(config)
    const outgoing = new GuardedClient({ ...policies.outgoing, ...overrides.outgoing })
    const webhookClient = new GuardedClient({ ...policies.webhooks, ...overrides.outgoing })
    const ring = keyring(masterKey)
    const memo = openMemo(storage)
    const runtime = createRuntime({
      providers: config.providers,
      secrets: knownSecrets({ config, storage, memo, keyring: ring, log }),
      fetch: outgoing.fetch,
      now,
      defaultTimeoutMs: config.limits.invokeTimeout,
    })
    const embedder = config.memory.embedder && openEmbedder(config.memory.embedder, { log, now })
    const audit = openTrail({ storage, journal, newId, now, log })
    const parts = {
      config,
      storage,
      journal,
      keyring: ring,
      runtime,
      embedder,
      recall: new WarmRecall({ db: storage.db, now, room: config.memory.warm, embedder }),
      fetch: outgoing.fetch,
      webhookFetch: webhookClient.fetch,
      live: new LiveRuns(),
      events,
      memo,
      audit,
      log,
      newId,
      now,
      node: nodeName(overrides.kind ?? 'service'),
    }
    const stopRenewing = keepRuns(parts)
    return {
      parts,
      async close() {
        stopRenewing()
        await audit.close()
        await journal.drain()
        await runtime.close()
        await Promise.all([outgoing.close(), webhookClient.close()])
        await embedder?.close()
        await storage.close()
      },
    }
  } catch (error) {
    await storage.close()
    throw error
  }
}

/** Several services may share a PostgreSQL; a SQLite store is served by one. */
export async function startApp(config: Config, overrides: Overrides = {}): Promise<App> {
  const unlock = config.database.url ? () => {} : lockFolder(config.data)
  try {
    const app = await openApp(config, overrides)
    return { ...app, stop: () => app.stop().finally(unlock) }
  } catch (error) {
    unlock()
    throw error
  }
}

async function openApp(config: Config, overrides: Overrides): Promise<App> {
  const { parts, close } = await buildParts(config, overrides)
  const { storage, audit, log, now } = parts
  for (const name of deprecatedOpenings(config)) {
    log.warn(`webhooks.${name} opens calls of tools too, which is deprecated: set outgoing.${name}`)
  }
  await freeLeases(parts)
  const limiter = openLimiter(config, now, log)
  const keys = keyVerifier(parts)
  const replays = idempotency(parts)
  const { gate, verifyToken, findAgent, guardedAgents, close: closeAccess } = openAccess(parts)
  const spend = (key_id: string, code: string) => spendCode(storage.db, parts.keyring, { key_id, code, now: now() })

  const server = createServer(
    {
      parts,
      operations,
      gate,
      verifyKey: keys.verify,
      verifyToken,
      findAgent,
      guardedAgents,
      spendCode: spend,
      limiter,
      idempotency: replays,
    },
    new WriteProbe(storage.db, now),
  )
  const dispatcher = new Dispatcher(parts)
  const keepHouse = () => {
    Promise.all([keys.flush(), audit.tidy()]).catch((err) => log.warn({ err }, 'housekeeping failed'))
  }
  keepHouse()
  const housekeeping = setInterval(keepHouse, HOUSEKEEPING_MS)

  const background = startBackground(parts)
  const { lingerMs = LINGER_MS } = overrides

  const closeAll = async () => {
    clearInterval(housekeeping)
    // What has not ended by then is cancelled while its client can still be told.
    const hurry = setTimeout(() => void parts.runtime.close(), config.server.drainTimeout)
    await Promise.all([
      server.close({ lingerMs, drainMs: config.server.drainTimeout + LAST_WORDS_MS }),
      background.close(),
      dispatcher.stop(config.server.drainTimeout),
    ])
    clearTimeout(hurry)
    // What outlived its client's connection is cancelled, and leaves its record, before the store closes.
    await parts.runtime.close()
    await parts.live.idle()
    await replays.close()
    closeAccess()
    await keys.flush().catch((err) => log.warn({ err }, 'could not write when keys were last used'))
    await limiter.close()
    await close()
  }
  try {
    // Once it listens nothing can go wrong any more that would keep the only key from being shown.
    const url = await server.listen()
    const first = await firstStart(parts)
    let stopping: Promise<void> | undefined
    return {
      ...first,
      url,
      engine: storage.engine,
      parts,
      jobs: background.jobs,
      stop: () => (stopping ??= closeAll()),
    }
  } catch (error) {
    await closeAll()
    throw error
  }
}

function openLimiter({ redis }: Config, now: () => number, log: Logger): RateLimiter {
  const local = localLimiter(now)
  if (!redis.url) return local
  const connection = new Redis(redis.url, {
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    commandTimeout: 500,
    connectTimeout: 2_000,
    retryStrategy: (attempt) => Math.min(attempt * 200, 2_000),
  })
  let warned = 0
  const degraded = (err: unknown) => {
    if (now() - warned < 10_000) return
    warned = now()
    log.warn({ err }, 'Redis does not answer: this node limits rates by itself until it does')
  }
  connection.on('error', degraded)
  return sharedLimiter(connection, local, degraded)
}
