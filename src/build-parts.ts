import { randomBytes } from 'node:crypto'
import { findSnapshotBySeq } from './agents/agent-snapshot.ts'
import { type OpenTrail, openTrail } from './audit/trail.ts'
import { BudgetDesk } from './budgets/desk/budget-desk.ts'
import { watchCounters } from './budgets/desk/tend-counters.ts'
import { type Config, type ShownSetting, shownSettings } from './config.ts'
import { ConnectionTokens } from './connections/grants/connection-tokens.ts'
import { ConnectionProviders } from './connections/provider-of.ts'
import { openFiles } from './files/attached-files.ts'
import { keepRuns } from './invocations/tend-runs.ts'
import { followedChanges } from './invocations/turns/turn-store.ts'
import { idSource } from './lib/id.ts'
import { createLog, type Logger } from './lib/log.ts'
import { findVersion, type ProgramVersion } from './lib/version.ts'
import { Errands } from './lib/work/errands.ts'
import { openRunMemory } from './memory/run-memory.ts'
import { WarmRecall } from './memory/search/warm-recall.ts'
import { EarlierTexts } from './operation/earlier-texts.ts'
import type { Parts } from './operation/parts.ts'
import type { Operation } from './operation.ts'
import { PauseWatch } from './pauses/pause-watch.ts'
import { projectSnapshots } from './project-snapshots.ts'
import { openEmbedder } from './runtime/embedders/embedder.ts'
import { LiveRuns } from './runtime/following/live-runs.ts'
import { openRedisWire } from './runtime/following/redis-wire.ts'
import { RemoteRuns } from './runtime/following/remote-runs.ts'
import { StepsElsewhere } from './runtime/remote-agent/steps-elsewhere.ts'
import { Runtime } from './runtime/runtime.ts'
import { knownSecrets } from './secrets/known-secrets.ts'
import { type Keyring, keyring, loadMasterKey, masterKeyFingerprint } from './security/keyring.ts'
import { openLimiter } from './security/limits/open-limiter.ts'
import { GuardedClient, type OutgoingPolicy } from './security/outgoing/guarded-client.ts'
import { policiesOf } from './security/outgoing/policies.ts'
import { runToken } from './security/run-token.ts'
import { addServiceGauges } from './service/service-gauges.ts'
import { openSizes } from './service/store-sizes.ts'
import { openBytes } from './storage/bytes/open-bytes.ts'
import { isAway } from './storage/failures.ts'
import { outageLog } from './storage/health/outage-log.ts'
import { WriteProbe } from './storage/health/write-probe.ts'
import { openJournal } from './storage/journal/journal.ts'
import { nodeName } from './storage/leases/lease.ts'
import { NodeList } from './storage/leases/node-list.ts'
import { openMemo } from './storage/memo.ts'
import { openStorage, type Storage } from './storage/open-storage.ts'
import type { Migration } from './storage/schema/migration.ts'
import { MigrationWatch } from './storage/schema/migration-watch.ts'
import { findSetting, nameInRedis, writeOnce } from './storage/stored-settings.ts'
import { countCalls } from './telemetry/count-calls.ts'
import { openTracer } from './telemetry/open-tracer.ts'
import { addProcessGauges } from './telemetry/process-gauges.ts'
import { Telemetry } from './telemetry/telemetry.ts'
import { openSpending } from './usage/open-spending.ts'
import { PriceList } from './usage/prices/price-list.ts'
import { DELIVERIES } from './webhooks/delivery/delivery-store.ts'
import { openEvents } from './webhooks/emit-events.ts'
import { newWebhookSecret, signDelivery } from './webhooks/signature.ts'

/** What a test can replace: the clock, the log and the outside world. */
export type Overrides = {
  /** The kind of this process. Other processes that use the same store see it. */
  kind?: 'service' | 'cli'
  now?: () => number
  log?: Logger
  version?: ProgramVersion
  outgoing?: Pick<OutgoingPolicy, 'lookup' | 'nameservers' | 'ca'>
  lingerMs?: number
  /** Where the service listens. */
  url?: string
  consoleFolder?: string
  /** The operations of the API. */
  operations?: readonly Operation[]
  /** The migrations that this version knows. */
  migrations?: readonly Migration[]
  /** Receives their progress. */
  watch?: MigrationWatch
  /** Where the settings came from, if known. */
  settings?: readonly ShownSetting[]
}

/** Everything below HTTP, which the command line on the host also needs. */
export async function buildParts(
  config: Config,
  overrides: Overrides = {},
): Promise<{ parts: Parts & { audit: OpenTrail }; probe: WriteProbe; beginStop(): void; close(): Promise<void> }> {
  // If something fails, what was opened before is closed in reverse order.
  await using opened = new AsyncDisposableStack()
  const clock = overrides.now ?? Date.now
  const ownLog = overrides.log ?? createLog(config.log)
  const { migrations, watch = new MigrationWatch(ownLog) } = overrides
  const telemetry = new Telemetry()
  const onCommit = telemetry.countCommit
  // Before the store is opened: a start that fails because packages are missing must not migrate the database.
  const tracer = await openTracer(config.otel, ownLog)
  opened.defer(() => tracer?.close())
  const { embedder: embedding } = config.memory
  const embedder = embedding && openEmbedder(embedding, { log: ownLog, now: clock, proxy: config.proxy })
  opened.defer(() => embedder?.close())
  const storage = opened.adopt(
    await openStorage({
      ...config,
      migrations,
      watch,
      waitsForConsent: overrides.kind !== 'cli',
      warn: (message) => ownLog.warn(message),
      onCommit,
    }),
    (store) => store.close(),
  )
  // All nodes use one clock, the database's, so leases mean the same on each of them. SQLite has one node.
  const now = storage.engine === 'sqlite' ? clock : () => clock() + storage.skew()
  const probe = new WriteProbe(storage, now)
  const log = outageLog(ownLog, now, probe)
  const masterKey = await checkedMasterKey(config, storage)
  const ring = keyring(masterKey)
  const newId = idSource()
  const memo = openMemo(storage, (kind) => ({
    hits: telemetry.lookups.cell(kind, 'hit'),
    misses: telemetry.lookups.cell(kind, 'miss'),
  }))
  const findProject = projectSnapshots({ config, storage, memo, keyring: ring, log })
  const events = openEvents({ findProject, memo, storage }, newId)
  const journal = openJournal(storage, config.limits)
  journal.onWritten(DELIVERIES, events.wake)
  opened.defer(() => journal.drain())
  const errands = opened.adopt(new Errands(log), (begun) => begun.close())
  const policies = policiesOf(config)
  const openClient = (policy: OutgoingPolicy) =>
    opened.adopt(new GuardedClient({ ...policy, ...overrides.outgoing }), (client) => client.close())
  const outgoing = openClient(policies.outgoing)
  const fetchForAgents = countCalls(outgoing.fetch, 'tool', telemetry)
  const webhookFetch = countCalls(openClient(policies.webhooks).fetch, 'webhook', telemetry)
  const providers = async (project_id: string) => (await findProject(project_id))?.providers ?? config.providers
  const prices = new PriceList({ config, findProject, log })
  const pauses = new PauseWatch({ findProject, storage })
  const projectOf = async (agent_seq: number) =>
    (await findSnapshotBySeq(agent_seq, { findProject, memo, storage }))?.project.id ?? ''
  const isPaused = async (agent_seq: number) => (await pauses.find(await projectOf(agent_seq))) !== undefined
  const bytes = openBytes({ data: config.data, s3: config.files.s3, storage, newId, now, log })
  const secrets = knownSecrets({ config, storage, memo, keyring: ring, log })
  const node = nodeName(overrides.kind ?? 'service')
  const connectionProviders = new ConnectionProviders({ config, fetch: fetchForAgents, keyring: ring, log, storage })
  const connections = new ConnectionTokens({
    config,
    connectionProviders,
    events,
    keyring: ring,
    log,
    memo,
    newId,
    node,
    now,
    storage,
  })
  const runtime = new Runtime({
    files: openFiles({ storage, bytes, config, newId, now }),
    pauses,
    isStoreAway: isAway,
    providers,
    secrets,
    connections,
    fetch: fetchForAgents,
    reach: (url, asked) => outgoing.reach(url, asked),
    proxy: config.proxy,
    now,
    defaultTimeoutMs: config.limits.invokeTimeout,
    remote: {
      memory: openRunMemory({ storage, now }, () => recall),
      sign: (message, secret) => signDelivery(message, [secret]),
      newSecret: () => newWebhookSecret(randomBytes),
      addressOf: (run) => ({
        url: `${config.server.publicUrl ?? overrides.url ?? ''}/v1/agents/${run.agent_id}/invocations/${run.request_id}`,
        token: runToken(run, ring),
      }),
    },
  })
  opened.defer(() => runtime.close())
  const recall = new WarmRecall({ storage, now, room: config.memory.warm, embedder, projectOf, isPaused })
  const audit = opened.adopt(openTrail({ storage, journal, newId, now, log }), (trail) => trail.close())
  const stop = new AbortController()
  const desk = opened.adopt(
    new BudgetDesk({ config, events, findProject, log, memo, node, now, prices, storage }),
    (open) => open.close(),
  )
  opened.defer(watchCounters({ errands, events, journal, log, now, storage }))
  const version = overrides.version ?? findVersion()
  const live = new LiveRuns()
  const runsLive = () => live.all().length
  const nodes = opened.adopt(new NodeList({ storage, node, ...version, now, runsLive, log }), (list) => list.leave())
  const limiter = opened.adopt(
    await openLimiter(config.redis.url, { now, log, nodes, name: () => nameInRedis(storage.db) }),
    (open) => open.close(),
  )
  const { isShared } = limiter
  if (isShared) telemetry.gauge('moorage_redis_up', 'Whether Redis answers', () => Number(isShared()))
  const findEnded = followedChanges(storage.db)
  const redisWire = await openWire(config, storage, ring, log)
  opened.defer(() => redisWire?.close())
  const wire = redisWire ?? storage.wire
  const remote = new RemoteRuns({ node, live, wire, findEnded, log })
  const stepsElsewhere = new StepsElsewhere({
    node,
    wire,
    has: (run) => runtime.isTakingSteps(run),
    take: ({ request_id, attempt, steps }) => runtime.takeSteps(request_id, attempt, steps),
  })
  stop.signal.addEventListener('abort', () => {
    remote.close()
    stepsElsewhere.close()
  })
  const parts = {
    config,
    settings: () => overrides.settings ?? shownSettings(config),
    sizes: openSizes({ storage, now }, errands),
    storage,
    bytes,
    journal,
    keyring: ring,
    runtime,
    secrets,
    connections,
    connectionProviders,
    embedder,
    recall,
    fetch: fetchForAgents,
    webhookFetch,
    live,
    remote,
    stepsElsewhere,
    nodes,
    version,
    earlier: new EarlierTexts(),
    prices,
    spending: opened.adopt(
      openSpending({ storage, journal, newId, now, log, telemetry, prices, desk, findProject, memo }),
      (spending) => spending.close(),
    ),
    pauses,
    events,
    memo,
    findProject,
    audit,
    limiter,
    log,
    errands,
    telemetry,
    tracer,
    newId,
    now,
    stopping: stop.signal,
    node,
  }
  opened.defer(keepRuns(parts))
  opened.defer(addProcessGauges(telemetry, now))
  addServiceGauges(parts, probe)
  const closing = opened.move()
  return { parts, probe, beginStop: () => stop.abort(), close: () => closing.disposeAsync() }
}

/**
 * The key that encrypts secrets in this database. A start with another key is refused, because it couldn't decrypt any
 * of them.
 */
async function checkedMasterKey({ masterKey, data }: Config, { db }: Parts['storage']): Promise<Buffer> {
  const isNew = (await findSetting(db, 'master_key')) === undefined
  const loaded = loadMasterKey({ masterKey, dataDir: data, isNew })
  const known = await writeOnce(db, 'master_key', masterKeyFingerprint(loaded))
  if (known.value === masterKeyFingerprint(loaded)) return loaded
  throw new Error(
    'this database was written with another master key. Set MOORAGE_MASTER_KEY to that key, or put its master.key back into the data directory',
  )
}

/** The output of runs travels between nodes over Redis if there is one, because that doesn't load the database. */
async function openWire({ redis }: Config, { db, wire }: Storage, ring: Keyring, log: Logger) {
  if (!wire || !redis.url) return undefined
  const channel = `moorage:runs:${await nameInRedis(db)}`
  const seal = {
    close: (message: string) => ring.encrypt(message, channel),
    open: (sealed: string) => ring.decrypt(sealed, channel),
  }
  return openRedisWire({ url: redis.url, channel, seal, log })
}
