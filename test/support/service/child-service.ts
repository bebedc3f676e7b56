import { type ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { newKey } from '../../../src/security/key-format.ts'
import type { Database } from '../../../src/storage/database.ts'
import { openStorage } from '../../../src/storage/open-storage.ts'
import { PATIENCE, requestSoon } from '../running/patience.ts'
import { freshPostgres, freshSqlite } from '../stores/fresh-store.ts'
import { storeFolder } from '../stores/store-folder.ts'
import { built } from './built.ts'
import { childEnv, startChild } from './child.ts'
import type { Engine, Reply, Settings } from './service.ts'

/** A service in its own process, as an operator starts it, for tests that kill it. */
export type ChildService = {
  admin: string
  data: string
  pid(): number
  url(): string
  // Each test asserts the shape itself.
  // oxlint-disable-next-line typescript/no-explicit-any
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<any>
  /** Returns the reply whatever its status. Undefined if the process was gone before. */
  send(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Reply | undefined>
  /** A GET whose body is read as it arrives. */
  open(path: string, headers?: Record<string, string>): Promise<Response>
  /** Everything that it has printed, on both streams. */
  output(): string
  /** Sends SIGTERM, as a supervisor would. Resolves with the exit code. */
  terminate(): Promise<number | null>
  /** Kills it with kill -9, without any warning. */
  kill(): Promise<void>
  /** Changes its store while it is down. */
  inStore(work: (db: Database) => Promise<void>): Promise<void>
  /** Starts it again on the same store. */
  start(): Promise<void>
}

const START_MS = 240_000 * PATIENCE

/** It is removed with its store when the test ends. */
export async function startChildService(
  t: { after(end: () => Promise<void>): void },
  engine: Engine,
  settings: Settings = {},
  limits: { openFiles?: number } = {},
): Promise<ChildService> {
  const { home, env, remove } = await prepareHome(engine, settings)
  const { MOORAGE_INIT_KEY: admin, MOORAGE_DATA: data } = env
  let child: ChildProcess | undefined
  let url = ''
  let output = ''

  const request = async (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) => {
    const reply = await requestSoon(url + path, {
      method,
      headers: { Authorization: `Bearer ${admin}`, 'Content-Type': 'application/json', ...headers },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    return { ...reply, body: JSON.parse(reply.text) }
  }
  const end = async (signal: NodeJS.Signals): Promise<number | null> => {
    if (!child || child.exitCode !== null || child.signalCode !== null) return child?.exitCode ?? null
    const ended = once(child, 'exit')
    child.kill(signal)
    const [code] = await ended
    return code
  }

  const service: ChildService = {
    admin,
    data,
    pid: () => child?.pid ?? 0,
    url: () => url,
    async call(method, path, body, headers) {
      const { status, text, body: parsed } = await request(method, path, body, headers)
      if (status >= 400) throw new Error(`${method} ${path} answered ${status}: ${text}`)
      return parsed
    },
    send: (method, path, body, headers) => request(method, path, body, headers).catch(() => undefined),
    open: (path, headers = {}) => fetch(url + path, { headers: { Authorization: `Bearer ${admin}`, ...headers } }),
    output: () => output,
    terminate: () => end('SIGTERM'),
    kill: async () => void (await end('SIGKILL')),
    async inStore(work) {
      const { db, close } = await openStorage({ data, database: { url: env.DATABASE_URL, poolSize: 1 } })
      await work(db).finally(close)
    },
    async start() {
      const command = [process.execPath, built('main')]
      const limited = ['sh', '-c', `ulimit -n ${limits.openFiles} && exec "$@"`, 'sh', ...command]
      const [program = '', ...args] = limits.openFiles === undefined ? command : limited
      child = startChild(program, args, { cwd: home, env, stdio: ['ignore', 'pipe', 'pipe'] })
      const keep = (chunk: Buffer) => {
        output += chunk
      }
      child.stdout?.on('data', keep)
      child.stderr?.on('data', keep)
      url = await saidUrl(child)
    },
  }
  t.after(async () => {
    await service.kill()
    await remove()
  })
  await service.start()
  return service
}

/** A folder, a store and the environment of the process. */
async function prepareHome(engine: Engine, settings: Settings) {
  const home = await storeFolder('child')
  const database = engine === 'postgres' && !settings['DATABASE_URL'] ? await freshPostgres() : undefined
  if (engine === 'sqlite') await freshSqlite(join(home, 'data'))
  const env = {
    ...childEnv(),
    PORT: '0',
    LOG_LEVEL: 'error',
    ...settings,
    DATABASE_URL: settings['DATABASE_URL'] ?? database?.url,
    MOORAGE_DATA: settings['MOORAGE_DATA'] ?? join(home, 'data'),
    MOORAGE_INIT_KEY: settings['MOORAGE_INIT_KEY'] ?? newKey(randomBytes),
  }
  const remove = async () => {
    await database?.drop()
    await rm(home, { recursive: true, force: true })
  }
  return { home, env, remove }
}

/** The URL that the service prints. */
function saidUrl(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let said = ''
    const hear = (chunk: Buffer) => {
      said += chunk
      const url = /URL\s+(http\S+)/.exec(said)?.[1]
      if (url) resolve(url)
    }
    child.stdout?.on('data', hear)
    child.stderr?.on('data', hear)
    child.once('exit', (code, signal) => reject(new Error(`the service ended with ${signal ?? code}:\n${said}`)))
    setTimeout(() => reject(new Error(`the service has not started within ${START_MS} ms:\n${said}`)), START_MS).unref()
  })
}
