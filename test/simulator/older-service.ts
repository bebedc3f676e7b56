// A service that another checkout has built, in a process of its own. It's asked over HTTP like any other.
import type { ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { newKey } from '../../src/security/key-format.ts'
import { fetchSoon, PATIENCE } from '../support/running/patience.ts'
import { childEnv, startChild } from '../support/service/child.ts'
import type { Engine, Settings } from '../support/service/service.ts'
import { testPostgres } from '../support/stores/postgres.ts'
import { storeFolder } from '../support/stores/store-folder.ts'
import type { Subject } from './hostile/hostile-stage.ts'

/** One that a script can kill, and start again on its store. */
export type OlderService = Subject & {
  start(): Promise<void>
  kill(): Promise<void>
  terminate(): Promise<void>
  /** Another node on the same store. Only on PostgreSQL. */
  beside(): Promise<OlderService>
}

const START_MS = 120_000 * PATIENCE

/** The checkout has been built (`npm run build`). The store is new, and the service migrates it. */
export async function startOlder(checkout: string, engine: Engine, settings: Settings): Promise<OlderService> {
  const home = await storeFolder('older')
  const database = engine === 'postgres' ? await testPostgres() : undefined
  const own = {
    PORT: '0',
    LOG_LEVEL: 'error',
    MOORAGE_DATA: join(home, 'data'),
    MOORAGE_INIT_KEY: newKey(randomBytes),
    ...(database && { DATABASE_URL: database.url }),
    ...settings,
  }
  const release = async () => {
    await database?.drop()
    await rm(home, { recursive: true, force: true })
  }
  return startNode({ checkout: resolve(checkout), engine, settings: own, home }, release)
}

type Node = {
  checkout: string
  engine: Engine
  settings: Settings & { MOORAGE_DATA: string; MOORAGE_INIT_KEY: string }
  home: string
}

async function startNode(node: Node, release: () => Promise<void>): Promise<OlderService> {
  const { checkout, engine, settings, home } = node
  let child: ChildProcess | undefined
  let output = ''
  const end = async (signal: NodeJS.Signals) => {
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    child.kill(signal)
    await ended
  }
  const service: OlderService = {
    engine,
    url: '',
    admin: settings.MOORAGE_INIT_KEY,
    data: settings.MOORAGE_DATA,
    async call(method, path, { key = service.admin, body, headers = {} } = {}) {
      const { response, text } = await fetchSoon(service.url + path, {
        method,
        headers: {
          ...(key !== null && { Authorization: `Bearer ${key}` }),
          ...(body !== undefined && { 'Content-Type': 'application/json' }),
          ...headers,
        },
        ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      })
      return { status: response.status, headers: response.headers, text, body: parsed(text) }
    },
    log: () => output,
    async start() {
      const program = join(checkout, 'dist/service/main.js')
      const env = { ...childEnv(), ...settings, NODE_COMPILE_CACHE: join(home, 'compiled') }
      const started = startChild(process.execPath, [program], { cwd: home, env, stdio: ['ignore', 'pipe', 'pipe'] })
      child = started
      const began = output.length
      const keep = (chunk: Buffer) => {
        output += chunk
      }
      started.stdout?.on('data', keep)
      started.stderr?.on('data', keep)
      service.url = await saidUrl(started, () => output.slice(began))
    },
    kill: () => end('SIGKILL'),
    terminate: () => end('SIGTERM'),
    beside: () => startNode(node, async () => {}),
    async stop() {
      await end('SIGTERM')
      await release()
    },
  }
  await service.start()
  return service
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

async function saidUrl(child: ChildProcess, output: () => string): Promise<string> {
  const ended = new AbortController()
  child.once('exit', () => ended.abort())
  for (const end = performance.now() + START_MS; performance.now() < end && !ended.signal.aborted; ) {
    const url = /URL\s+(http\S+)/.exec(output())?.[1]
    if (url) return url
    await new Promise((look) => setTimeout(look, 20))
  }
  throw new Error(`the service has not started:\n${output()}`)
}
