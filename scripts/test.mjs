// npm test [-- part of a file name …] [-- --only] [-- --test-name-pattern=…] [-- --slowest] [-- --keep-durations]
// npm run test:all adds test/whole: what packs, installs, walks through whole documents or takes long. It runs on both
// engines what npm test runs on one, unless --once is given, as in CI. With --once it also leaves out tests under load.
// A few processes run side by side and take one file after the other from a common list.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { globSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Client } from 'pg'
import { chromiumPath } from '../test/support/console/chromium.ts'
import { keepTimes, longestFirst, rememberTimes } from '../test/support/running/durations.ts'
import { writeFileList } from '../test/support/running/file-list.ts'
import { PATIENCE } from '../test/support/running/patience.ts'
import { slowestFiles } from '../test/support/running/slowest.ts'
import { testEnv } from '../test/support/running/test-env.ts'
import { TEST_LIMIT_MS } from '../test/support/running/time-limit.ts'
import { pgbouncerPath } from '../test/support/stores/pgbouncer.ts'
import { startPostgres } from '../test/support/stores/postgres.ts'
import { redisEngine } from '../test/support/stores/redis.ts'
import { runFolder } from '../test/support/stores/store-folder.ts'

const RUN_LIMIT_MS = 40 * 60_000 * PATIENCE
/** Two more than there are processors: tests wait for other processes, for the disk and for time. */
const SIDE_BY_SIDE = Math.max(2, Math.min(4, availableParallelism() + 2))

/**
 * What tests create is mostly garbage soon. With room for more of it, it is collected less often, and less of it is copied
 * first.
 */
const HEAP = ['--min-semi-space-size=16', '--max-semi-space-size=64']

/** Tests under load and with many random steps take long, and other tests cover what they use. --once leaves them out. */
const UNDER_LOAD = new Set(
  [
    'chaos',
    'console/console-long-activity',
    'files/attachment-bombs',
    'files/uploads-memory',
    'growth',
    'large-replies',
    'log-reader',
    'many-projects',
    'remote-floods',
    'remote-killed',
    'runs/fair-shares',
    'slow-readers',
    'stalls',
    'storage/properties',
    'usage-million',
    'webhook-load',
  ].map((name) => `test/whole/${name}.test.ts`),
)

/** Fewer files are seen to be slow as they run. */
const MANY_FILES = 20

const root = dirname(import.meta.dirname)
const isAll = process.argv.includes('--all')
const isOnce = process.argv.includes('--once')
const isKept = process.argv.includes('--keep-durations')
const OWN_OPTIONS = new Set(['--all', '--once', '--slowest', '--keep-durations'])
const options = process.argv.slice(2).filter((arg) => arg.startsWith('-') && !OWN_OPTIONS.has(arg))
const names = process.argv.slice(2).filter((arg) => !arg.startsWith('-'))

const files = longestFirst(
  globSync('test/**/*.test.ts', { cwd: root }).filter((file) =>
    names.length === 0 ? isChosen(file) : names.some((name) => file.includes(name)),
  ),
)
/** Also says which tests took longest. */
const isSlowest = files.length >= MANY_FILES || process.argv.includes('--slowest')
if (files.length === 0) stop(`no test file has ${names.join(' or ')} in its name`)

const { DATABASE_URL, REDIS_URL, MOORAGE_TEST_POSTGRES, MOORAGE_TEST_REDIS, CI } = process.env
const chromium = chromiumPath()
if (CI && !chromium) stop('CI is set, but Chromium is not installed, so tests would be skipped')
const pgbouncer = pgbouncerPath()
if (CI && !pgbouncer) stop('CI is set, but PgBouncer is not installed, so tests would be skipped')

const folder = runFolder()
process.env.MOORAGE_TEST_FOLDER = folder

const givenPostgres = MOORAGE_TEST_POSTGRES || DATABASE_URL
const givenRedis = MOORAGE_TEST_REDIS || REDIS_URL
const ownPostgres = givenPostgres ? undefined : await startPostgres()
const postgres = givenPostgres || ownPostgres.url

console.log(
  [
    `PostgreSQL ${await postgresVersion(postgres)} (${givenPostgres ? new URL(postgres).host : 'embedded'})`,
    `Redis (${givenRedis ? new URL(givenRedis).host : redisEngine()})`,
    `Chromium (${chromium ?? 'none: its tests are skipped'})`,
    `PgBouncer (${pgbouncer ?? 'none: its tests are skipped'})`,
  ].join(' · '),
)

process.exitCode = await run().finally(async () => {
  await ownPostgres?.close()
  rmSync(folder, { recursive: true, force: true })
})

function isChosen(file) {
  if (isAll) return !isOnce || !UNDER_LOAD.has(file)
  return !file.startsWith('test/whole/')
}

function stop(message) {
  console.error(message)
  process.exit(1)
}

async function postgresVersion(url) {
  const client = new Client({ connectionString: url })
  await client.connect()
  const { rows } = await client.query('show server_version')
  await client.end()
  return rows[0].server_version
}

async function run() {
  const list = writeFileList(folder, files)
  const entries = writeEntries()
  const env = testEnv({ postgres, redis: givenRedis, chromium, isAll, isOnce })

  const reporters = ['--test-reporter=spec', '--test-reporter-destination=stdout']
  const slowest = join(folder, 'slowest-tests.txt')
  if (isSlowest) {
    const reporter = pathToFileURL(join(root, 'test/support/running/slowest.ts')).href
    reporters.push(`--test-reporter=${reporter}`, `--test-reporter-destination=${slowest}`)
  }
  const flags = [`--test-concurrency=${SIDE_BY_SIDE}`, `--test-timeout=${TEST_LIMIT_MS}`, ...reporters]
  const filters = options.map((option) => (option === '--only' ? '--test-only' : option))
  // A process group of its own, so that stopping it also stops what the tests started.
  const child = spawn(process.execPath, [...HEAP, '--test', ...flags, ...filters, ...entries], {
    cwd: root,
    env,
    detached: true,
    stdio: 'inherit',
  })
  const end = () => {
    if (child.exitCode === null) process.kill(-child.pid, 'SIGTERM')
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, end)
  const deadline = setTimeout(() => {
    console.error(`The tests were stopped, because they took longer than ${RUN_LIMIT_MS / 60_000} minutes`)
    end()
  }, RUN_LIMIT_MS)

  const [code] = await once(child, 'exit')
  clearTimeout(deadline)
  tellTimes(list.times())
  if (isSlowest) console.log(readFileSync(slowest, 'utf8'))
  for (const line of list.cutShort()) console.error(line)
  return code ?? 1
}

function tellTimes(times) {
  // What a pattern or `only` leaves of a file says nothing of the file.
  if (options.length === 0) rememberTimes(times)
  if (isKept) keepTimes()
  if (isSlowest) console.log(`\n${slowestFiles(times).join('\n')}`)
}

/** What each process runs. */
function writeEntries() {
  const takeFiles = pathToFileURL(join(root, 'test/support/running/take-files.ts')).href
  return Array.from({ length: Math.min(SIDE_BY_SIDE, files.length) }, (_, i) => {
    const entry = join(folder, `process-${i + 1}.mjs`)
    const program = `import { takeFiles } from ${JSON.stringify(takeFiles)}\nawait takeFiles(${JSON.stringify(folder)})\n`
    writeFileSync(entry, program)
    return entry
  })
}
