// npm test [-- part of a file name …] [-- --only] [-- --test-name-pattern=…]
// Test files are dealt out to a few processes, of which two run side by side; inside one the files run one after the other.
// A file named *.alone.test.ts gets a process of its own.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { globSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Client } from 'pg'
import { findExecutable } from '../test/support/daemon.ts'
import { PATIENCE } from '../test/support/patience.ts'
import { startPostgres } from '../test/support/postgres.ts'
import { redisEngine } from '../test/support/redis.ts'

/** For one test, and for a whole `describe`. The slowest take a third of it. */
const TEST_LIMIT_MS = 40_000 * PATIENCE
const RUN_LIMIT_MS = 10 * 60_000 * PATIENCE
const SIDE_BY_SIDE = 2
/** More processes than run at once: the side that ends first takes the next one. */
const PROCESSES = 8

const root = dirname(import.meta.dirname)
const options = process.argv.slice(2).filter((arg) => arg.startsWith('-'))
const names = process.argv.slice(2).filter((arg) => !arg.startsWith('-'))

const files = globSync('test/**/*.test.ts', { cwd: root })
  .filter((file) => names.length === 0 || names.some((name) => file.includes(name)))
  .toSorted()
if (files.length === 0) stop(`no test file has ${names.join(' or ')} in its name`)

const { DATABASE_URL, REDIS_URL, MOORAGE_TEST_POSTGRES, MOORAGE_TEST_REDIS, MOORAGE_TEST_CHROMIUM, CI } = process.env
const chromium = MOORAGE_TEST_CHROMIUM || findExecutable('chromium', 'chromium-browser', 'google-chrome')
if (CI && !chromium) stop('CI is set and there is no chromium: a test would be skipped')

const givenPostgres = MOORAGE_TEST_POSTGRES || DATABASE_URL
const givenRedis = MOORAGE_TEST_REDIS || REDIS_URL
const ownPostgres = givenPostgres ? undefined : await startPostgres()
const postgres = givenPostgres || ownPostgres.url

console.log(
  [
    `PostgreSQL ${await postgresVersion(postgres)} (${givenPostgres ? new URL(postgres).host : 'embedded'})`,
    `Redis (${givenRedis ? new URL(givenRedis).host : redisEngine()})`,
    `Chromium (${chromium ?? 'none: its tests are skipped'})`,
  ].join(' · '),
)

process.exitCode = await run().finally(() => ownPostgres?.close())

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
  const paths = files.map((file) => resolve(root, file))
  const alone = paths.filter((file) => file.endsWith('.alone.test.ts'))
  const shared = paths.filter((file) => !alone.includes(file))
  const folder = mkdtempSync(join(tmpdir(), 'moorage-tests-'))
  const entries = [...dealOut(shared, folder), ...alone]

  const env = {
    ...process.env,
    MOORAGE_TEST_POSTGRES: postgres,
    MOORAGE_TEST_REDIS: givenRedis,
    MOORAGE_TEST_CHROMIUM: chromium,
  }
  // A service under test must not find the developer's own servers by accident.
  delete env.DATABASE_URL
  delete env.REDIS_URL

  const flags = [`--test-concurrency=${SIDE_BY_SIDE}`, `--test-timeout=${TEST_LIMIT_MS}`, '--test-reporter=spec']
  const filters = options.map((option) => (option === '--only' ? '--test-only' : option))
  // A process group of its own, so that stopping it also stops what the tests started.
  const child = spawn(process.execPath, ['--test', ...flags, ...filters, ...entries], {
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
    console.error(`not done after ${RUN_LIMIT_MS / 60_000} minutes: stopped`)
    end()
  }, RUN_LIMIT_MS)

  const [code] = await once(child, 'exit')
  clearTimeout(deadline)
  rmSync(folder, { recursive: true, force: true })
  return code ?? 1
}

/** Files with similar names often take similar time, so they are spread over the processes. */
function dealOut(paths, folder) {
  const hands = Array.from({ length: Math.min(PROCESSES, paths.length) }, () => [])
  for (const [i, path] of paths.entries()) hands[i % hands.length].push(path)
  return hands.map((hand, i) => {
    const entry = join(folder, `${i + 1}.mjs`)
    const support = (name) => join(root, 'test/support', name)
    const modules = [support('begin.ts'), ...hand, support('left-open.ts')]
    writeFileSync(entry, modules.map((file) => `await import(${JSON.stringify(pathToFileURL(file).href)})\n`).join(''))
    return entry
  })
}
