import { setTimeout as delay } from 'node:timers/promises'
import { openAccess } from './access.ts'
import { OpenApplications } from './applications/open-applications.ts'
import type { OpenTrail } from './audit/trail.ts'
import { type Background, freeLeases, startBackground } from './background.ts'
import { buildParts, type Overrides } from './build-parts.ts'
import type { Config } from './config.ts'
import { SignIns } from './connections/links/sign-ins.ts'
import { createFirstLink } from './console/create-link.ts'
import { OpenConsole } from './console/open-console.ts'
import { type FirstStart, firstStart } from './first-start.ts'
import { consoleDoor } from './http/pipeline/guards/console-door.ts'
import { Idempotency } from './http/pipeline/idempotency/idempotency.ts'
import { CONSOLE_FOLDER } from './http/server/console/console-files.ts'
import { openEarly } from './http/server/early-server.ts'
import { openMetricsPort } from './http/server/metrics-port.ts'
import { createServer, type Server } from './http/server/server.ts'
import { isUnderWay } from './invocations/steps/run-under-way.ts'
import { spendCode } from './keys/factors/spend-code.ts'
import { type KeyVerifier, keyVerifier } from './keys/verify-key.ts'
import { createLog } from './lib/log.ts'
import { findVersion } from './lib/version.ts'
import { openLinks } from './links/open-links.ts'
import { adoptRestored } from './logs/follow-log.ts'
import type { Parts } from './operation/parts.ts'
import { operations } from './operations.ts'
import * as pauses from './pauses/store.ts'
import { reportIdleRoles } from './people/recognise-person.ts'
import type { TokenRun } from './security/run-token.ts'
import type { Jobs } from './storage/jobs/run-jobs.ts'
import { BY_RESTORE } from './storage/queries/paused-projects.ts'
import { MigrationWatch } from './storage/schema/migration-watch.ts'
import { lockFolder } from './storage/sqlite/lock.ts'
import { AnswerSender } from './triggers/channels/answer-sender.ts'
import { openInlet } from './triggers/receive/inlet.ts'
import { Dispatcher } from './webhooks/delivery/deliver.ts'

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

const HOUSEKEEPING_MS = 30_000
/** How long a stop waits for requests that are arriving on idle connections. */
const LINGER_MS = 1_000
/** How long the service waits for the clients of cancelled runs to get their replies. */
const LAST_WORDS_MS = 1_000

export async function startApp(config: Config, overrides: Overrides = {}): Promise<App> {
  await using opened = new AsyncDisposableStack()
  // Several services can share a PostgreSQL database, but only one can use a SQLite store.
  if (!config.database.url) opened.defer(lockFolder(config.data))
  const ownLog = overrides.log ?? createLog(config.log)
  const version = overrides.version ?? findVersion()
  ownLog.info({ ...version, node_version: process.versions.node }, 'starting')
  const watch = overrides.watch ?? new MigrationWatch(ownLog)
  const early = opened.adopt(await openEarly(config.server, watch), (server) => server.close())
  const { parts, probe, beginStop, close } = await buildParts(config, {
    ...overrides,
    log: ownLog,
    version,
    watch,
    url: early.url,
  })
  opened.defer(close)
  const { storage, log, now } = parts
  await freeLeases(parts)
  await adoptRestored(storage.db)
  if (config.startPaused) {
    const pause = { project_id: null, reason: 'Started paused.', paused_by: BY_RESTORE, paused_at: now() }
    await storage.transaction((db) => pauses.insert(db, pause))
  }
  const keys = keyVerifier(parts)
  opened.defer(() => keys.flush().catch((err) => log.warn({ err }, 'could not store when keys were last used')))
  const access = opened.adopt(openAccess(parts), (open) => open.close())
  const idempotency = opened.adopt(new Idempotency(parts), (open) => open.close())
  // A run can outlive its client's connection. It is cancelled and its record is written before the store closes.
  opened.defer(() => parts.runtime.close().then(() => parts.live.idle()))

  const console = config.console.enabled ? new OpenConsole({ ...parts, noteUse: keys.noteUse }) : undefined
  const edge = {
    ...access,
    parts,
    operations: overrides.operations ?? operations,
    keys,
    spendCode: (key_id: string, code: string) => spendCode(storage.db, parts.keyring, { key_id, code, now: now() }),
    isUnderWay: (run: TokenRun) => isUnderWay(run, parts),
    idempotency,
    inlet: openInlet(parts),
    links: openLinks(keys, parts),
    applications: config.mcp.signIn ? new OpenApplications(keys, parts) : undefined,
    pagesFolder: overrides.consoleFolder ?? CONSOLE_FOLDER,
    connect: new SignIns(parts),
    console: console
      ? {
          sessions: console,
          door: consoleDoor(config),
        }
      : undefined,
  }
  const server = createServer(edge, probe, early)
  const dispatcher = new Dispatcher(parts)
  const answers = new AnswerSender(parts)
  const background = startBackground(parts)
  opened.defer(() =>
    drain({ server, dispatcher, answers, background, beginStop }, parts, overrides.lingerMs ?? LINGER_MS),
  )
  opened.defer(keepHouse(parts, keys, console))
  const metrics = await openMetrics(parts)
  opened.defer(() => metrics?.close())

  // The only key is shown after the service answers, when nothing can fail any more.
  const url = server.open()
  await parts.nodes.join()
  const first = await firstStart(parts)
  await reportIdleRoles(storage.db, parts)
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

type RunningService = {
  server: Server
  dispatcher: Dispatcher
  answers: AnswerSender
  background: Background
  beginStop(): void
}

/** Lets work in progress finish, and accepts nothing new. */
async function drain(service: RunningService, parts: Parts, lingerMs: number) {
  const { server, dispatcher, answers, background, beginStop } = service
  const { drainDelay, drainTimeout } = parts.config.server
  // Load balancers first see that they should send nothing more, while requests are still answered.
  server.beginClosing()
  await delay(drainDelay)
  beginStop()
  // Runs that have not ended by then are cancelled while their clients can still get a reply.
  const hurry = setTimeout(() => void parts.runtime.close(), drainTimeout)
  await Promise.all([
    server.close({ lingerMs, drainMs: drainTimeout + LAST_WORDS_MS }),
    background.close(),
    dispatcher.stop(drainTimeout),
    answers.stop(drainTimeout),
  ])
  clearTimeout(hurry)
}

async function openMetrics({ config, telemetry, log }: Parts) {
  const { metricsHost: host, metricsPort } = config.server
  if (metricsPort === undefined) return undefined
  const metrics = await openMetricsPort(telemetry, { host, port: metricsPort })
  log.info({ port: metrics.port }, 'Prometheus can scrape /metrics on its own port')
  return metrics
}

/**
 * Returns a function that ends it and waits for active checks, because a provider's answer that isn't stored would be
 * lost.
 */
function keepHouse(
  { audit, log }: Parts & { audit: OpenTrail },
  keys: KeyVerifier,
  console: OpenConsole | undefined,
): () => Promise<void> {
  const tidy = async () => {
    try {
      await Promise.all([keys.flush(), audit.tidy(), console?.confirmDue()])
    } catch (err) {
      log.warn({ err }, 'housekeeping failed')
    }
  }
  let underWay = tidy()
  const timer = setInterval(() => {
    underWay = underWay.then(tidy)
  }, HOUSEKEEPING_MS)
  return () => {
    clearInterval(timer)
    return underWay
  }
}
