// npm run bench [-- --quick] [--only part-of-a-name] [--seconds 2] [--rounds 8] [--rows 1000000] [--against folder] [--json file] [--profile]
// Throughput as a share of a bare node:http server, measured side by side.
// Absolute numbers depend on the machine and on what else it does; the ratios travel.
import { randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { newKey } from '../src/security/key-format.ts'
import { LOCAL_RECEIVERS } from '../test/support/slices/webhooks.ts'
import { startPostgres } from '../test/support/stores/postgres.ts'
import { startRedis } from '../test/support/stores/redis.ts'
import { storedBytes } from './disk.ts'
import { fillMemory } from './fill.ts'
import { type Load, type LoadResult, measure } from './load.ts'
import { printProfiles } from './profile.ts'
import { printReport, type Result } from './report.ts'
import { busyMilliseconds, LOAD_CORE, pinLoad, pinned, type Server, type StoredServer, startServer } from './servers.ts'
import type { Engine, Subject } from './subject.ts'
import { subjectsFor } from './subjects.ts'

const { values: options } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    only: { type: 'string', multiple: true, default: [] },
    seconds: { type: 'string' },
    rounds: { type: 'string' },
    /** How long the long lists are. */
    rows: { type: 'string', default: '1000000' },
    /** Another checkout, for example the one before a change. Its servers are measured in the same rounds. */
    against: { type: 'string' },
    json: { type: 'string' },
    /** Writes CPU profiles of the servers into ./profiles, for Chrome's developer tools, and prints what took most. */
    profile: { type: 'boolean', default: false },
  },
})
const seconds = Number(options.seconds ?? (options.quick ? 1 : 2))
const rounds = Number(options.rounds ?? (options.quick ? 3 : 8))
const CONNECTIONS = 32
/** What `npm start` runs. */
const START: [string, string] = ['scripts/launch.mjs', 'src/main.ts']
/** After this time the engine has compiled the hot code. */
const WARM_UP_MS = options.quick ? 2_000 : 6_000

/** What a start leaves to do is done by then. */
const SETTLED_MS = 1_000
/** So much of the time is enough for a brief subject. */
const BRIEF = 0.25
const profiles = resolve('profiles')
const began = Date.now()

const key = newKey(randomBytes)
const folder = mkdtempSync(join(tmpdir(), 'moorage-bench-'))
const own = resolve(import.meta.dirname, '..')
const checkouts = options.against ? [own, resolve(options.against)] : [own]
const unlimited = JSON.stringify({ enterprise: { requestsPerMinute: 1_000_000_000, burst: 1_000_000_000 } })

type Measurement = {
  subject: Subject
  server: StoredServer
  disk_bytes: number | null
  results: (LoadResult & { cpu_us: number; busy: number; load_busy: number })[]
}

const subjects = subjectsFor(key, Number(options.rows))
const wanted = subjects.filter(
  ({ group, name, engine }) =>
    (options.only.length === 0 && !(options.quick && group !== 'requests')) ||
    options.only.some((part) => `${group} ${name} ${engine}`.includes(part)),
)

pinLoad()
const closers: (() => Promise<void>)[] = []
let modelUrl = ''
try {
  const bare = await startServer({ checkout: own, program: ['bench/bare-server.ts'], folder, name: 'bare', env: {} })
  closers.push(() => bare.stop())
  const model = await startServer({
    checkout: own,
    program: ['bench/model-server.ts'],
    folder,
    name: 'model',
    env: {},
    core: LOAD_CORE,
  })
  closers.push(() => model.stop())
  modelUrl = model.url
  // The first start compiles everything and keeps it, as an installation's first start does; the others are measured.
  for (const checkout of checkouts) await (await startEngine(checkout, 'embedded', 'first', [])).stop('SIGTERM')
  // One group at a time: idle servers still cost memory, and filled stores differ from empty ones.
  const results: Result[] = []
  for (const group of new Set(wanted.map((subject) => subject.group))) {
    results.push(
      ...(await measureGroup(
        bare,
        wanted.filter((subject) => subject.group === group),
      )),
    )
  }
  console.log(
    `${CONNECTIONS} connections unless 1 is said, ${rounds} rounds of ${seconds} s each, every effect on disk before its reply`,
  )
  console.log(pinned ? 'servers on one core, load and databases on another' : 'not pinned to cores: taskset is missing')
  printReport(results)
  if (options.profile) printProfiles(profiles, began)
  if (options.json) writeFileSync(options.json, `${JSON.stringify(results, undefined, 2)}\n`)
  // Refusals are quick, so numbers with failures prove nothing.
  if (results.some(({ failed }) => failed > 0)) process.exitCode = 1
} finally {
  for (const close of closers.toReversed()) await close()
  rmSync(folder, { recursive: true, force: true })
}

async function measureGroup(bare: Server, chosen: Subject[]): Promise<Result[]> {
  const measurements = await prepareGroup(chosen)
  const group = chosen[0]?.group
  const yardstick = subjects.find((subject) => subject.group === group && subject.engine !== 'floor')?.load as Load
  const bareRates: number[] = []
  await measure(bare.url, yardstick, CONNECTIONS, WARM_UP_MS)
  for (const measurement of measurements) {
    const { subject, server } = measurement
    const before = subject.disk ? storedBytes(server.data) : 0
    const { requests } = await measureSubject(measurement, WARM_UP_MS)
    if (subject.disk) measurement.disk_bytes = (storedBytes(server.data) - before) / requests
  }
  for (let round = 0; round < rounds; round++) {
    const { requests, seconds: took } = await measure(bare.url, yardstick, CONNECTIONS, seconds * 1000)
    bareRates.push(requests / took)
    for (const measurement of measurements) {
      const { server, results } = measurement
      const before = { cpu: server.cpuMicroseconds(), busy: server.busyMilliseconds(), load: busyMilliseconds() }
      const started = performance.now()
      const measured = await measureSubject(measurement, seconds * 1000)
      const took_ms = performance.now() - started
      results.push({
        ...measured,
        cpu_us: (server.cpuMicroseconds() - before.cpu) / measured.requests,
        busy: (server.busyMilliseconds() - before.busy) / took_ms,
        load_busy: (busyMilliseconds() - before.load) / took_ms,
      })
    }
  }
  const rows = measurements.map((measurement) => resultOf(measurement, measurements, bareRates))
  // A server that is killed writes no profile.
  for (const server of new Set(measurements.map((measurement) => measurement.server))) {
    await server.stop(options.profile ? 'SIGTERM' : 'SIGKILL')
  }
  return rows
}

/** Starts what the subjects need, and fills it. */
async function prepareGroup(chosen: Subject[]): Promise<Measurement[]> {
  const flags = options.profile ? ['--cpu-prof', `--cpu-prof-dir=${profiles}`] : []
  const measurements: Measurement[] = []
  const servers = new Map<string, StoredServer>()
  for (const checkout of checkouts) {
    for (const subject of chosen) {
      const { engine, store, fill } = subject
      const name = `${checkout} ${engine} ${store?.name}`
      let server = servers.get(name)
      if (!server) {
        const started = await startEngine(checkout, engine, `${servers.size}`, flags)
        // If a row fails, no server is left behind.
        closers.push(() => started.stop())
        server = started
        await store?.fill(server)
        if (store?.restarts) {
          await started.stop('SIGTERM')
          const restarted = await startAgain(started, `${servers.size}-again`, flags)
          closers.push(() => restarted.stop())
          server = restarted
        }
      }
      servers.set(name, server)
      if (fill) await fillMemory(server.url, key, fill)
      measurements.push({ subject, server, disk_bytes: null, results: [] })
    }
  }
  return measurements
}

async function measureSubject({ subject, server }: Measurement, ms: number): Promise<LoadResult> {
  const { name, engine, load, connections = CONNECTIONS, brief } = subject
  try {
    if (subject.measure) return await subject.measure(server)
    return await measure(server.url, load, connections, brief ? ms * BRIEF : ms)
  } catch (error) {
    throw new Error(`${name} (${engine}) failed; the end of the server's log: ${server.log().slice(-2000)}`, {
      cause: error,
    })
  }
}

function resultOf(measurement: Measurement, all: Measurement[], bareRates: number[]): Result {
  const { subject, server, results, disk_bytes } = measurement
  const least = all.find(
    (other) =>
      other.subject.name === subject.grownFrom &&
      other.subject.engine === subject.engine &&
      other.server.checkout === server.checkout,
  )
  const floor = subject.group === 'models' ? all.find((other) => other.subject.engine === 'floor') : undefined
  return {
    group: subject.group,
    name: subject.name,
    engine: subject.engine,
    checkout: server.checkout === own ? 'this' : 'against',
    // Compared round by round: if the machine is busy for a while, the yardstick is slower too.
    of_bare: middle(results.map(({ requests, seconds: took }, i) => requests / took / (bareRates[i] ?? 0))),
    per_second: middle(results.map(({ requests, seconds: took }) => requests / took)),
    p50_ms: middle(results.map(({ p50_ms }) => p50_ms)),
    p99_ms: middle(results.map(({ p99_ms }) => p99_ms)),
    cpu_us: middle(results.map(({ cpu_us }) => cpu_us)),
    busy: middle(results.map(({ busy }) => busy)),
    load_busy: middle(results.map(({ load_busy }) => load_busy)),
    of_floor: floor ? middle(results.map(({ cpu_us }, i) => cpu_us / (floor.results[i]?.cpu_us ?? 0))) : null,
    rss_mb: server.residentMegabytes(),
    idle_mb: server.idle_mb,
    started_ms: server.started_ms,
    disk_bytes,
    growth: least ? middle(results.map(({ p50_ms }, i) => p50_ms / (least.results[i]?.p50_ms ?? 0))) : null,
    failed: results.reduce((sum, { failed }) => sum + failed, 0),
  }
}

async function startEngine(checkout: string, engine: Engine, name: string, flags: string[]): Promise<StoredServer> {
  const data = join(folder, `data-${name}-${randomBytes(4).toString('hex')}`)
  const env: Record<string, string> = {
    ...LOCAL_RECEIVERS,
    MOORAGE_DATA: data,
    MOORAGE_INIT_KEY: key,
    MOORAGE_LIMITS__TIERS: unlimited,
    MOORAGE_PROVIDERS: JSON.stringify([{ name: 'bench', baseUrl: modelUrl }]),
    MODEL_URL: modelUrl,
  }
  if (engine === 'floor') mkdirSync(data)
  if (engine.startsWith('PostgreSQL')) {
    const postgres = await startPostgres({ durable: true })
    closers.push(() => postgres.close())
    env['DATABASE_URL'] = postgres.url
  }
  if (engine === 'PostgreSQL + Redis') {
    const redis = await startRedis()
    closers.push(() => redis.close())
    env['REDIS_URL'] = redis.url
  }
  const isFloor = engine === 'floor'
  const program: [string, ...string[]] = isFloor ? ['bench/proxy-floor.ts'] : START
  const server = await startServer({
    checkout: isFloor ? own : checkout,
    program,
    folder,
    name: `server-${name}`,
    env,
    flags,
  })
  await setTimeout(SETTLED_MS)
  const idle_mb = server.residentMegabytes()
  return { ...server, checkout, env, data, modelUrl, databaseUrl: env['DATABASE_URL'], idle_mb }
}

/** Another process on the store of one that has stopped. */
async function startAgain(stopped: StoredServer, name: string, flags: string[]): Promise<StoredServer> {
  const { checkout, env } = stopped
  const server = await startServer({ checkout, program: START, folder, name: `server-${name}`, env, flags })
  await setTimeout(SETTLED_MS)
  return { ...stopped, ...server, idle_mb: server.residentMegabytes() }
}

function middle(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const half = Math.floor(sorted.length / 2)
  return ((sorted[half] ?? 0) + (sorted.at(-half - 1) ?? 0)) / 2
}
