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
import { fetchSoon } from '../running/patience.ts'
import { freshPostgres, freshSqlite } from '../stores/fresh-store.ts'
import { storeFolder } from '../stores/store-folder.ts'

/** Services of a clone ask git which commit they are. These are all of one. */
const VERSION = findVersion()

export type Engine = 'sqlite' | 'postgres'

/** For what the store decides: its contract holds on both, in every run. */
export const ENGINES: readonly Engine[] = ['sqlite', 'postgres']

// `npm test` tells other stories on one engine, test:all on both. With --once, those that no query decides are told once.
const { MOORAGE_TEST_ALL, MOORAGE_TEST_ONCE } = process.env

/** For a story in which the queries of the engines differ, or may differ some day. */
export const STORY_ENGINES: readonly Engine[] = MOORAGE_TEST_ALL ? ENGINES : ['sqlite']

const once = (engine: Engine): readonly Engine[] => (MOORAGE_TEST_ALL && !MOORAGE_TEST_ONCE ? ENGINES : [engine])

/** For a story whose outcome no query of one engine decides. */
export const ANY_ENGINE = once('sqlite')

/** For such a story in which several nodes play a part: a SQLite store has one service at a time. */
export const MANY_NODES = once('postgres')

export type Reply = {
  status: number
  headers: Headers
  text: string
  // The shape is the test's to assert.
  // oxlint-disable-next-line typescript/no-explicit-any
  body: any
}

export type CallOptions = {
  /** Another key than the admin's; null sends none. */
  key?: string | null
  body?: unknown
  headers?: Record<string, string>
}

/** A whole service of its own: its store, its port, its clock. */
export type Service = {
  engine: Engine
  url: string
  admin: string
  app: App
  data: string
  /** The project that its requests name, if they name one. */
  project?: string
  /** One request, its reply checked against the OpenAPI document. */
  call(method: string, path: string, options?: CallOptions): Promise<Reply>
  /** Everything it has logged. */
  log(): string
  /** What the service's clock shows. */
  now(): number
  /** Moves the service's clock. */
  advance(ms: number): void
  /** From now on only `advance` moves the clock: nothing comes due by itself, however long a test takes. */
  holdClock(): void
  /** Stops it and starts it again on the same store. */
  restart(): Promise<void>
  /** A second node on the same store, to be stopped before this one; on SQLite only once this one is stopped. */
  beside(settings?: Settings): Promise<Service>
  stop(): Promise<void>
}

/** Settings by their environment names, as an operator would give them. */
export type Settings = Record<string, string>

/** The world that the service calls out to: names that resolve as a test says, authorities it trusts. */
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
    // A machine that stands still now and then is slow, not wrong.
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
      const { response, text } = await fetchSoon(service.url + path, {
        method,
        headers: {
          ...(key !== null && { Authorization: `Bearer ${key}` }),
          ...(body !== undefined && { 'Content-Type': 'application/json' }),
          ...headers,
        },
        ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      })
      const reply = { status: response.status, headers: response.headers, text, body: parse(text) }
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

/** A test of what happens between two nodes: a SQLite store has one service at a time, so there is none there. */
export function betweenNodes(engine: Engine): (name: string, story: (t: TestContext) => Promise<void>) => void {
  return (name, story) => {
    if (engine === 'postgres') test(name, story)
  }
}

/** For a story that changes its service for good. */
export async function withService(engine: Engine, story: (service: Service) => Promise<void>, settings: Settings = {}) {
  const service = await startService(engine, settings)
  try {
    await story(service)
  } catch (error) {
    // What the story says is the first mistake.
    await service.stop().catch(() => {})
    throw error
  }
  await service.stop()
}

type Story = (service: () => Service, engine: Engine) => void

/** The story on each of the engines; `service` is started before it and stopped after it. */
export const onEveryEngine = teller(ENGINES)

export const onBothEngines = teller(STORY_ENGINES)

export const onAnyEngine = teller(ANY_ENGINE)

/** For a story that no query decides: what is read of a request, what is refused before the store is asked. */
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
