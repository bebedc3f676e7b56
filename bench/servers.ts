import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'

export type Server = {
  url: string
  /** From the start of the process until it says its address. */
  started_ms: number
  cpuMicroseconds(): number
  /** How long its main thread has run, or was ready to run and had no core. */
  busyMilliseconds(): number
  residentMegabytes(): number
  /** What it has written to stderr. */
  log(): string
  stop(signal?: NodeJS.Signals): Promise<void>
}

/** A server of a checkout, and where it stores. */
export type StoredServer = Server & {
  checkout: string
  env: Record<string, string>
  data: string
  databaseUrl: string | undefined
  /** The model that its agents may have. */
  modelUrl: string
  /** Before the first request. */
  idle_mb: number
}

const LOOK_MS = 2
const START_LIMIT_MS = 30_000

/** The core for servers, and the one for everything else. */
const SERVER_CORE = '0'
export const LOAD_CORE = '1'

export const pinned = availableParallelism() > 1 && spawnSync('taskset', ['--version']).status === 0

/** Pins this process, and what it starts from now on, except for the servers. */
export function pinLoad(): void {
  if (pinned) spawnSync('taskset', ['-pc', LOAD_CORE, String(process.pid)])
}

/** Runs a program of a checkout with Node's flags of `npm start`. Its output goes to files in `folder`, as in production. */
export async function startServer(options: {
  checkout: string
  /** A file of the checkout, and its arguments. */
  program: [string, ...string[]]
  folder: string
  name: string
  env: Record<string, string>
  flags?: string[]
  core?: string
}): Promise<Server> {
  const { checkout, folder, name, env, flags = [], core = SERVER_CORE } = options
  const [file, ...fileArgs] = options.program
  const { scripts } = JSON.parse(readFileSync(join(checkout, 'package.json'), 'utf8')) as {
    scripts: { start: string }
  }
  const command = [process.execPath, ...(scripts.start.match(/ --\S+/g) ?? []).map((flag) => flag.trim()), ...flags]
  const [program, ...args] = pinned ? ['taskset', '-c', core, ...command] : command
  const output = join(folder, `${name}.out`)
  const stdout = openSync(output, 'w')
  const stderr = openSync(join(folder, `${name}.log`), 'w')
  const began = performance.now()
  const child = spawn(program as string, [...args, join(checkout, file), ...fileArgs], {
    cwd: folder,
    env: { PATH: process.env['PATH'], NODE_COMPILE_CACHE: join(folder, 'compiled'), PORT: '0', ...env },
    stdio: ['ignore', stdout, stderr],
  })
  closeSync(stdout)
  closeSync(stderr)
  const url = await addressIn(output, child, join(folder, `${name}.log`))
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  return {
    url,
    started_ms: performance.now() - began,
    cpuMicroseconds: () => cpuMicroseconds(child),
    busyMilliseconds: () => busyMilliseconds(child.pid),
    residentMegabytes: () => residentMegabytes(child),
    log: () => readFileSync(join(folder, `${name}.log`), 'utf8'),
    async stop(signal = 'SIGKILL') {
      if (child.exitCode === null) child.kill(signal)
      await exited
    },
  }
}

async function addressIn(output: string, child: ChildProcess, log: string): Promise<string> {
  const until = performance.now() + START_LIMIT_MS
  while (performance.now() < until && child.exitCode === null) {
    const url = /http:\/\/127\.0\.0\.1:\d+/.exec(readFileSync(output, 'utf8'))?.[0]
    if (url) return url
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS))
  }
  child.kill('SIGKILL')
  throw new Error(`a server did not start: ${readFileSync(log, 'utf8').slice(-2000)}`)
}

function cpuMicroseconds({ pid }: ChildProcess): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) * 10_000
}

/** Of this process, or another one. */
export function busyMilliseconds(pid: number | 'self' = 'self'): number {
  const [ran = 0, waited = 0] = readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ').map(Number)
  return (ran + waited) / 1_000_000
}

function residentMegabytes({ pid }: ChildProcess): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024
}
