import { randomBytes } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, type TestContext, test } from 'node:test'
import { type App, startApp } from '../../../src/app.ts'
import type { Overrides } from '../../../src/build-parts.ts'
import { loadConfig } from '../../../src/config.ts'
import { createLog } from '../../../src/lib/log.ts'
import { findVersion } from '../../../src/lib/version.ts'
import { newKey } from '../../../src/security/key-format.ts'
import { checkReply } from '../clients/openapi.ts'
import { watchInvariants } from '../invariants/watch-invariants.ts'
import { requestSoon } from '../running/patience.ts'
import { freshPostgres, freshSqlite } from '../stores/fresh-store.ts'
import { storeFolder } from '../stores/store-folder.ts'

/** A clone's services ask git for their commit. These all have the same one. */
const VERSION = findVersion()

export type Engine = 'sqlite' | 'postgres'

/** For what the store decides, because both engines must behave the same in every run. */
export const ENGINES: readonly Engine[] = ['sqlite', 'postgres']

// `npm test` runs other stories on one engine, test:all on both. With --once, stories that no query decides run only
// once.
const { MOORAGE_TEST_ALL, MOORAGE_TEST_ONCE } = process.env

/** For a story in which the engines' queries differ, or might differ one day. */
export const STORY_ENGINES: readonly Engine[] = MOORAGE_TEST_ALL ? ENGINES : ['sqlite']

const once = (engine: Engine): readonly Engine[] => (MOORAGE_TEST_ALL && !MOORAGE_TEST_ONCE ? ENGINES : [engine])

/** For a long story of several nodes, of which a SQLite store has only one at a time. */
export const NODE_STORY_ENGINES: readonly Engine[] = MOORAGE_TEST_ALL ? ENGINES : ['postgres']

/** For a story whose outcome doesn't depend on an engine's query. */
export const ANY_ENGINE = once('sqlite')

/** For such a story with several nodes, because a SQLite store can have only one service at a time. */
export const MANY_NODES = once('postgres')

export type Reply = {
  status: number
  headers: Headers
  text: string
  // Each test asserts the shape itself.
  // oxlint-disable-next-line typescript/no-explicit-any
  body: any
}

export type CallOptions = {
  /** A key other than the admin's. If null, none is sent. */
  key?: string | null
  body?: unknown
  headers?: Record<string, string>
}

/** A complete service with its own store, port and clock. */
export type Service = {
  engine: Engine
  url: string
  admin: string
  app: App
  data: string
  /** The project that its requests name, if any. */
  project?: string
  /** Makes one request, and checks its reply against the OpenAPI document. */
  call(method: string, path: string, options?: CallOptions): Promise<Reply>
  /** Everything that it has logged. */
  log(): string
  /** The time on the service's clock. */
  now(): number
  /** Moves the service's clock. */
  advance(ms: number): void
  /** From now on, only `advance` moves the clock, so nothing becomes due by itself, no matter how long a test takes. */
  holdClock(): void
  /** Stops it and starts it again on the same store. */
  restart(): Promise<void>
  /** A second node on the same store. Stop it before this one. On SQLite, this one must be stopped first. */
  beside(settings?: Settings): Promise<Service>
  stop(): Promise<void>
}

/** Settings by the names of their environment variables, as an operator would set them. */
export type Settings = Record<string, string>

/** The outside world that the service calls: names that resolve as the test says, and authorities that it trusts. */
export type Outgoing = NonNullable<Overrides['outgoing']>

/** With `held`, only `advance` moves the clock from that time on. */
export async function startService(
  engine: Engine,
  settings: Settings = {},
  outgoing: Outgoing = {},
  overrides: Overrides = {},
  held?: number,
): Promise<Service> {
  const home = await storeFolder('test')
  const database = engine === 'postgres' && !settings['DATABASE_URL'] ? await freshPostgres() : undefined
  if (engine === 'sqlite' && !settings['MOORAGE_DATA']) await freshSqlite(join(home, 'data'))
  const environment = {
    MOORAGE_DATA: join(home, 'data'),
    MOORAGE_INIT_KEY: newKey(randomBytes),
    PORT: '0',
    LOG_LEVEL: 'trace',
    // A machine that is sometimes suspended is slow, which isn't a failure.
    MOORAGE_DATABASE__READ_TIMEOUT: '2m',
    ...(database && { DATABASE_URL: database.url }),
    ...settings,
  }
  const release = async () => {
    await database?.drop()
    await rm(home, { recursive: true, force: true })
  }
  return startNode(
    engine,
    environment,
    home,
    { ...overrides, outgoing },
    { release, held, mayBeAway: 'DATABASE_URL' in settings },
  )
}

async function startNode(
  engine: Engine,
  environment: Settings & { MOORAGE_DATA: string; MOORAGE_INIT_KEY: string },
  home: string,
  overrides: Overrides,
  {
    release,
    held: heldSince,
    mayBeAway,
  }: { release: () => Promise<void>; held: number | undefined; mayBeAway: boolean },
): Promise<Service> {
  const admin = environment.MOORAGE_INIT_KEY
  let offset = 0
  let held = heldSince
  let log = ''
  const start = () => {
    const { config, settings } = loadConfig({ env: environment, cwd: home })
    const write = (line: string) => {
      log += line
    }
    const options = { log: createLog(config.log, { write }), lingerMs: 0, version: VERSION, settings, ...overrides }
    const startIt = () => startApp(config, { now: () => (held ?? Date.now()) + offset, ...options })
    return watchInvariants(engine, startIt, { mayBeAway })
  }
  let app = await start()

  const service: Service = {
    engine,
    url: app.url,
    admin,
    app,
    data: environment.MOORAGE_DATA,
    async call(method, path, { key = admin, body, headers = {} } = {}) {
      const answer = await requestSoon(service.url + path, {
        method,
        headers: {
          ...(key !== null && { Authorization: `Bearer ${key}` }),
          ...(body !== undefined && { 'Content-Type': 'application/json' }),
          ...headers,
        },
        ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      })
      const reply = { ...answer, body: parse(answer.text) }
      checkReply(method, path, reply)
      return reply
    },
    log: () => log,
    now: () => service.app.parts.now(),
    advance(ms) {
      offset += ms
    },
    holdClock() {
      held = Date.now()
    },
    async restart() {
      await app.stop()
      app = await start()
      service.app = app
      service.url = app.url
    },
    beside: (settings) =>
      startNode(engine, { ...environment, ...settings }, home, overrides, {
        release: async () => {},
        held: heldSince,
        mayBeAway,
      }),
    async stop() {
      await app.stop().finally(release)
    },
  }
  return service
}

/** The same service, with a project named in every request. */
export function inProject(service: Service, project: string): Service {
  return {
    ...service,
    project,
    call: (method, path, options = {}) =>
      service.call(method, path, { ...options, headers: { 'Moorage-Project': project, ...options.headers } }),
  }
}

/**
 * For a test of what happens between two nodes. A SQLite store has only one service at a time, so it is skipped there.
 */
export function betweenNodes(engine: Engine): (name: string, story: (t: TestContext) => Promise<void>) => void {
  return (name, story) => {
    if (engine === 'postgres') test(name, story)
  }
}

/** For a story that changes its service permanently. */
export async function withService(engine: Engine, story: (service: Service) => Promise<void>, settings: Settings = {}) {
  const service = await startService(engine, settings)
  try {
    await story(service)
  } catch (error) {
    // An error in the story must be reported rather than one here.
    await service.stop().catch(() => {})
    throw error
  }
  await service.stop()
}

type Story = (service: () => Service, engine: Engine) => void

/** Runs the story on each engine. `service` is started before it and stopped after it. */
export const onEveryEngine = teller(ENGINES)

export const onBothEngines = teller(STORY_ENGINES)

export const onAnyEngine = teller(ANY_ENGINE)

/** For a story that no query decides, such as how a request is read and what is refused before the store is asked. */
export const onOneEngine = teller(['sqlite'])

export const onManyNodes = teller(MANY_NODES)

function teller(engines: readonly Engine[]) {
  return (name: string, story: Story, settings: Settings = {}, outgoing: Outgoing = {}): void => {
    for (const engine of engines) tell(`${name} on ${engine}`, engine, story, settings, outgoing)
  }
}

function tell(name: string, engine: Engine, story: Story, settings: Settings, outgoing: Outgoing): void {
  describe(name, () => {
    let service: Service
    before(async () => {
      service = await startService(engine, settings, outgoing)
    })
    after(() => service.stop())
    story(() => service, engine)
  })
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
