import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import project from '../package.json' with { type: 'json' }
import { openAccess } from './access.ts'
import { type OpenTrail, openTrail } from './audit/trail.ts'
import { freeLeases, startBackground } from './background.ts'
import { type Config, type ShownSetting, shownSettings } from './config.ts'
import { createFirstLink } from './console/create-link.ts'
import { openConsole } from './console/open-console.ts'
import { type FirstStart, firstStart } from './first-start.ts'
import { consoleDoor } from './http/pipeline/guards/console-door.ts'
import { Idempotency } from './http/pipeline/idempotency/idempotency.ts'
import { CONSOLE_FOLDER } from './http/server/console/console-files.ts'
import { openMetricsPort } from './http/server/metrics-port.ts'
import { createServer } from './http/server/server.ts'
import * as invocations from './invocations/store.ts'
import { keepRuns } from './invocations/tend-runs.ts'
import { spendCode } from './keys/factors/spend-code.ts'
import { type KeyVerifier, keyVerifier } from './keys/verify-key.ts'
import { idSource } from './lib/id.ts'
import { createLog, type Logger } from './lib/log.ts'
import { WarmRecall } from './memory/search/warm-recall.ts'
import { EarlierTexts } from './operation/earlier-texts.ts'
import type { Parts } from './operation/parts.ts'
import { operations } from './operations.ts'
import { openEmbedder } from './runtime/embedders/embedder.ts'
import { LiveRuns } from './runtime/following/live-runs.ts'
import { openRedisWire } from './runtime/following/redis-wire.ts'
import { RemoteRuns } from './runtime/following/remote-runs.ts'
import { createRuntime } from './runtime/runtime.ts'
import { knownSecrets } from './secrets/known-secrets.ts'
import { type Keyring, keyring, loadMasterKey, masterKeyFingerprint } from './security/keyring.ts'
import { openLimiter } from './security/limits/open-limiter.ts'
import { GuardedClient, type OutgoingPolicy } from './security/outgoing/guarded-client.ts'
import { deprecatedOpenings, policiesOf } from './security/outgoing/policies.ts'
import { addServiceGauges } from './service/service-gauges.ts'
import type { Jobs } from './storage/jobs/run-jobs.ts'
import { openJournal } from './storage/journal/journal.ts'
import { nodeName } from './storage/leases/lease.ts'
import { NodeList } from './storage/leases/node-list.ts'
import { openPlaces } from './storage/leases/places.ts'
import { openMemo } from './storage/memo.ts'
import { openStorage, type Storage } from './storage/open-storage.ts'
import { lockFolder } from './storage/sqlite/lock.ts'
import { findSetting, writeOnce } from './storage/stored-settings.ts'
import { WriteProbe } from './storage/write-probe.ts'
import { countCalls } from './telemetry/count-calls.ts'
import { openTracer } from './telemetry/open-tracer.ts'
import { addProcessGauges } from './telemetry/process-gauges.ts'
import { Telemetry } from './telemetry/telemetry.ts'
import { Dispatcher } from './webhooks/delivery/deliver.ts'
import { openEvents } from './webhooks/emit-events.ts'

export type App = FirstStart & {
  url: string
  engine: 'sqlite' | 'postgres'
  parts: Parts
  jobs: Jobs
  /** The token of a link that signs in to the console once. Undefined without a console or an admin key. */
  newConsoleLink(): Promise<string | undefined>
  /** Reports not ready, lets running requests finish, then closes everything. */
  stop(): Promise<void>
}

/** What a test may replace: the clock, the log and the outside world. */
export type Overrides = {
  /** The kind of this process. Other processes that use the same store see it. */
  kind?: 'service' | 'cli'
  now?: () => number
  log?: Logger
  outgoing?: Pick<OutgoingPolicy, 'lookup' | 'nameservers' | 'ca'>
  lingerMs?: number
  consoleFolder?: string
  /** Where the settings came from, if that is known. */
  settings?: readonly ShownSetting[]
}

const { version } = project

const HOUSEKEEPING_MS = 30_000
/** How long a stop waits for requests that are on their way on idle connections. */
const LINGER_MS = 1_000
/** How long the service waits until the clients of cancelled runs have their replies. */
const LAST_WORDS_MS = 1_000

/** Everything below HTTP: what the command line on the host needs too. */
export async function buildParts(
  config: Config,
  overrides: Overrides = {},
): Promise<{ parts: Parts & { audit: OpenTrail }; beginStop(): void; close(): Promise<void> }> {
  // If something fails, this closes in reverse what was opened before.
  await using opened = new AsyncDisposableStack()
  const clock = overrides.now ?? Date.now
  const log = overrides.log ?? createLog(config.log)
  const storage = opened.adopt(await openStorage({ ...config, warn: (message) => log.warn(message) }), (store) =>
    store.close(),
  )
  // All nodes go by one clock, the database's: leases mean the same on each of them.
  const now = () => clock() + storage.skew()
  const masterKey = await checkedMasterKey(config, storage)
  const ring = keyring(masterKey)
  const newId = idSource()
  const telemetry = new Telemetry()
  const tracer = await openTracer(config.otel, log)
  opened.defer(() => tracer?.close())
  const memo = openMemo(storage, (change) => ({
    hits: telemetry.lookups.cell(change, 'hit'),
    misses: telemetry.lookups.cell(change, 'miss'),
  }))
  const events = openEvents(storage, newId)
  const journal = openJournal(storage, {
    backlog: config.limits.backlog,
    onBatch: (entries, ms) => {
      telemetry.batchEntries.add(entries)
      telemetry.batchSeconds.add(ms / 1000)
    },
  })
  journal.onWritten(events.wake)
  opened.defer(() => journal.drain())
  const policies = policiesOf(config)
  const outgoing = new GuardedClient({ ...policies.outgoing, ...overrides.outgoing })
  const fetchForAgents = countCalls(outgoing.fetch, 'tool', telemetry)
  const webhookClient = new GuardedClient({ ...policies.webhooks, ...overrides.outgoing })
  opened.defer(() => outgoing.close())
  opened.defer(() => webhookClient.close())
  const embedder = config.memory.embedder && openEmbedder(config.memory.embedder, { log, now })
  opened.defer(() => embedder?.close())
  const runtime = createRuntime({
    providers: config.providers,
    secrets: knownSecrets({ config, storage, memo, keyring: ring, log }),
    fetch: fetchForAgents,
    now,
    defaultTimeoutMs: config.limits.invokeTimeout,
  })
  opened.defer(() => runtime.close())
  const audit = opened.adopt(openTrail({ storage, journal, newId, now, log }), (trail) => trail.close())
  const stop = new AbortController()
  const node = nodeName(overrides.kind ?? 'service')
  const places = opened.adopt(openPlaces({ storage, node, now, log }), (open) => open.close())
  const live = new LiveRuns()
  const runsLive = () => live.all().length
  const nodes = opened.adopt(new NodeList({ storage, node, version, now, runsLive, log }), (list) => list.leave())
  const findEnded = (ids: string[]) => invocations.listEnded(storage.db, ids)
  // A command on the host is too short to connect. Other nodes hear its messages over PostgreSQL.
  const redisWire = overrides.kind === 'cli' ? undefined : await openWire(config, storage, ring, log)
  opened.defer(() => redisWire?.close())
  const remote = new RemoteRuns({ node, live, wire: redisWire ?? storage.wire, findEnded, log })
  stop.signal.addEventListener('abort', () => remote.close())
  const parts = {
    config,
    settings: () => overrides.settings ?? shownSettings(config),
    storage,
    journal,
    keyring: ring,
    runtime,
    embedder,
    recall: new WarmRecall({ storage, now, room: config.memory.warm, embedder }),
    fetch: fetchForAgents,
    webhookFetch: countCalls(webhookClient.fetch, 'webhook', telemetry),
    live,
    remote,
    places,
    nodes,
    earlier: new EarlierTexts(),
    events,
    memo,
    audit,
    log,
    telemetry,
    tracer,
    newId,
    now,
    stopping: stop.signal,
    node,
  }
  opened.defer(keepRuns(parts))
  opened.defer(addProcessGauges(telemetry, now))
  addServiceGauges(parts)
  const closing = opened.move()
  return { parts, beginStop: () => stop.abort(), close: () => closing.disposeAsync() }
}

/**
 * The key that seals secrets in this database. A start with another key is refused, because it could open none of them.
 */
async function checkedMasterKey({ masterKey, data }: Config, { db }: Parts['storage']): Promise<Buffer> {
  const isNew = (await findSetting(db, 'master_key')) === undefined
  const loaded = loadMasterKey({ masterKey, dataDir: data, isNew })
  const known = await writeOnce(db, 'master_key', masterKeyFingerprint(loaded))
  if (known.value === masterKeyFingerprint(loaded)) return loaded
  throw new Error(
    'this database was written with another master key: set MOORAGE_MASTER_KEY to that one, or put its master.key back into the data directory',
  )
}

export async function startApp(config: Config, overrides: Overrides = {}): Promise<App> {
  await using opened = new AsyncDisposableStack()
  // Several services may share a PostgreSQL database. A SQLite store is served by one service only.
  if (!config.database.url) opened.defer(lockFolder(config.data))
  const { parts, beginStop, close } = await buildParts(config, overrides)
  opened.defer(close)
  const { storage, log, now } = parts
  for (const name of deprecatedOpenings(config)) {
    log.warn(`webhooks.${name} opens calls of tools too, which is deprecated: set outgoing.${name}`)
  }
  await freeLeases(parts)
  const limiter = opened.adopt(await openLimiter(config.redis.url, now, log), (open) => open.close())
  const keys = keyVerifier(parts)
  opened.defer(() => keys.flush().catch((err) => log.warn({ err }, 'could not write when keys were last used')))
  const access = opened.adopt(openAccess(parts), (open) => open.close())
  const replays = opened.adopt(new Idempotency(parts), (open) => open.close())
  // A run may outlive its client's connection. It is cancelled and its record is written before the store closes.
  opened.defer(() => parts.runtime.close().then(() => parts.live.idle()))

  const spend = (key_id: string, code: string) => spendCode(storage.db, parts.keyring, { key_id, code, now: now() })
  const edge = {
    ...access,
    parts,
    operations,
    verifyKey: keys.verify,
    spendCode: spend,
    limiter,
    idempotency: replays,
    console: config.console.enabled
      ? { sessions: openConsole(parts), door: consoleDoor(config), folder: overrides.consoleFolder ?? CONSOLE_FOLDER }
      : undefined,
  }
  const server = createServer(edge, new WriteProbe(storage.db, now))
  const dispatcher = new Dispatcher(parts)
  const background = startBackground(parts)
  const { drainDelay, drainTimeout } = config.server
  const { lingerMs = LINGER_MS } = overrides
  opened.defer(async () => {
    // Load balancers see first that they should send nothing more, while requests are still answered.
    server.beginClosing()
    await delay(drainDelay)
    beginStop()
    // Runs that have not ended by then are cancelled while their clients can still get a reply.
    const hurry = setTimeout(() => void parts.runtime.close(), drainTimeout)
    await Promise.all([
      server.close({ lingerMs, drainMs: drainTimeout + LAST_WORDS_MS }),
      background.close(),
      dispatcher.stop(drainTimeout),
    ])
    clearTimeout(hurry)
  })
  opened.defer(keepHouse(parts, keys))

  const { metricsHost: host, metricsPort } = config.server
  if (metricsPort !== undefined) {
    const metrics = await openMetricsPort(parts.telemetry, { host, port: metricsPort })
    opened.adopt(metrics, (open) => open.close())
    log.info({ port: metrics.port }, 'Prometheus can read /metrics on a port of its own')
  }
  // The only key is shown after the service listens, when nothing can go wrong any more.
  const url = await server.listen()
  await parts.nodes.join()
  const first = await firstStart(parts)
  const closing = opened.move()
  let stopped: Promise<void> | undefined
  return {
    ...first,
    url,
    engine: storage.engine,
    parts,
    jobs: background.jobs,
    newConsoleLink: async () =>
      config.console.enabled ? storage.transaction((db) => createFirstLink(db, now())) : undefined,
    stop: () => (stopped ??= closing.disposeAsync()),
  }
}

/** Returns a function that ends it. */
function keepHouse({ audit, log }: Parts & { audit: OpenTrail }, keys: KeyVerifier): () => void {
  const tidy = () => {
    Promise.all([keys.flush(), audit.tidy()]).catch((err) => log.warn({ err }, 'housekeeping failed'))
  }
  tidy()
  const timer = setInterval(tidy, HOUSEKEEPING_MS)
  return () => clearInterval(timer)
}

/** What runs say travels between nodes over Redis where there is one, because that costs the database nothing. */
async function openWire({ redis }: Config, { db, wire }: Storage, ring: Keyring, log: Logger) {
  if (!wire || !redis.url) return undefined
  const { value: name } = await writeOnce(db, 'redis_channel', randomUUID())
  const channel = `moorage:runs:${name}`
  const seal = {
    close: (message: string) => ring.encrypt(message, channel),
    open: (sealed: string) => ring.decrypt(sealed, channel),
  }
  return openRedisWire({ url: redis.url, channel, detour: wire, seal, log })
}
