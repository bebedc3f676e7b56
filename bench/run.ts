// npm run bench [-- seconds per measurement]: throughput as a share of a bare node:http server, measured side by side.
// Absolute numbers depend on the machine and on what else it does; the ratios travel.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import manifest from '../package.json' with { type: 'json' }
import { newKey } from '../src/security/key-format.ts'
import { startPostgres } from '../test/support/postgres.ts'
import { type Load, type Measured, measure } from './load.ts'

const ROUNDS = 8
const CONNECTIONS = 64
/** By then the engine has compiled what is hot, and compiles no more. */
const WARM_UP_MS = 6_000
const seconds = Number(process.argv[2] ?? 2)

type Subject = { name: string; server: Server; load: Load; results: (Measured & { cpu_us: number })[] }
type Server = { process: ChildProcess; url: string }

/** Servers start as `npm start` starts them. */
const flags = manifest.scripts.start.match(/--\S+/g) ?? []
const pinned = availableParallelism() > 1 && spawnSync('taskset', ['--version']).status === 0
const root = join(import.meta.dirname, '..')
const folder = mkdtempSync(join(tmpdir(), 'moorage-bench-'))
const key = newKey(randomBytes)
const headers = { Authorization: `Bearer ${key}` }
const message = 'What is the weather like in the harbour today, and will the ferry sail?'
const unlimited = JSON.stringify({ enterprise: { requestsPerMinute: 1_000_000_000, burst: 1_000_000_000 } })

const children: ChildProcess[] = []

if (pinned) spawnSync('taskset', ['-pc', '1', String(process.pid)])
const postgres = await startPostgres({ durable: true })
try {
  const subjects = await startSubjects()
  for (const { load } of subjects) await measure(load, CONNECTIONS, WARM_UP_MS)
  for (let round = 0; round < ROUNDS; round++) {
    for (const { server, load, results } of subjects) {
      const before = cpuMicroseconds(server.process)
      const measured = await measure(load, CONNECTIONS, seconds * 1000)
      results.push({ ...measured, cpu_us: (cpuMicroseconds(server.process) - before) / measured.requests })
    }
  }
  report(subjects)
  // Refusals are quick: numbers with failures in them prove nothing.
  if (subjects.some(({ results }) => results.some(({ failed }) => failed > 0))) process.exitCode = 1
} finally {
  for (const child of children) child.kill('SIGKILL')
  await postgres.close()
  rmSync(folder, { recursive: true, force: true })
}

async function startSubjects(): Promise<Subject[]> {
  const bare = await start('bench/bare-server.ts', {})
  const embedded = await start('src/main.ts', { MOORAGE_DATA: join(folder, 'embedded') })
  const onPostgres = await start('src/main.ts', { MOORAGE_DATA: join(folder, 'postgres'), DATABASE_URL: postgres.url })
  const invoke = { method: 'POST', path: '/v1/agents/hello/invoke', headers, body: JSON.stringify({ message }) }
  const get = { method: 'GET', path: '/v1/agents/hello', headers }
  return [
    { name: 'bare node:http', server: bare, load: { ...invoke, url: bare.url }, results: [] },
    { name: 'invoke, embedded', server: embedded, load: { ...invoke, url: embedded.url }, results: [] },
    { name: 'invoke, PostgreSQL', server: onPostgres, load: { ...invoke, url: onPostgres.url }, results: [] },
    { name: 'get agent, embedded', server: embedded, load: { ...get, url: embedded.url }, results: [] },
  ]
}

function start(entry: string, env: Record<string, string>): Promise<Server> {
  const command = [process.execPath, ...flags, join(root, entry)]
  const [program, ...args] = pinned ? ['taskset', '-c', '0', ...command] : command
  const child = spawn(program as string, args, {
    cwd: folder,
    env: {
      PATH: process.env['PATH'],
      PORT: '0',
      LOG_LEVEL: 'warn',
      MOORAGE_BOOTSTRAP_KEY: key,
      MOORAGE_LIMITS__TIERS: unlimited,
      ...env,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  children.push(child)
  let output = ''
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code, signal) => reject(new Error(`${entry} ended (${signal ?? code}) before it listened`)))
    child.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString()
      const url = /http:\/\/127\.0\.0\.1:\d+/.exec(output)?.[0]
      if (url) resolve({ process: child, url })
    })
  })
}

function cpuMicroseconds({ pid }: ChildProcess): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) * 10_000
}

function residentMegabytes({ pid }: ChildProcess): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024
}

function report(subjects: Subject[]): void {
  const rates = ({ results }: Subject) => results.map(({ requests, seconds: took }) => requests / took)
  const yardsticks = rates(subjects[0] as Subject)
  // Round by round: a machine that is busy for a while is so for the yardstick too.
  const shares = (subject: Subject) => rates(subject).map((rate, round) => rate / (yardsticks[round] ?? 0))
  const rows = subjects.map((subject) => {
    const { name, server, results } = subject
    return {
      '': name,
      'of bare': middle(shares(subject)).toFixed(2),
      'per second': Math.round(middle(rates(subject))),
      'p50 ms': middle(results.map(({ p50_ms }) => p50_ms)).toFixed(1),
      'p99 ms': middle(results.map(({ p99_ms }) => p99_ms)).toFixed(1),
      'CPU µs': Math.round(middle(results.map(({ cpu_us }) => cpu_us))),
      'RSS MB': Math.round(residentMegabytes(server.process)),
      failed: results.reduce((sum, { failed }) => sum + failed, 0),
    }
  })
  console.log(
    `${CONNECTIONS} connections, ${ROUNDS} rounds of ${seconds} s each, every effect on disk before its reply`,
  )
  console.log(
    pinned ? 'servers on one core, load (and PostgreSQL) on another' : 'not pinned to cores: taskset is missing',
  )
  console.table(Object.fromEntries(rows.map(({ '': name, ...row }) => [name, row])))
}

function middle(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const half = Math.floor(sorted.length / 2)
  return ((sorted[half] ?? 0) + (sorted.at(-half - 1) ?? 0)) / 2
}
