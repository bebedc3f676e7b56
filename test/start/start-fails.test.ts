import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import pg from 'pg'
import { startApp } from '../../src/app.ts'
import { loadConfig } from '../../src/config.ts'
import { createLog } from '../../src/lib/log.ts'
import { newKey } from '../../src/security/key-format.ts'
import { tlsFile } from '../support/outside/tls.ts'
import { until } from '../support/running/until.ts'
import { ANY_ENGINE, type Engine, type Settings } from '../support/service/service.ts'
import { freshPostgres } from '../support/stores/fresh-store.ts'

/** A configuration, and how many things of the store are open: threads of SQLite, connections to PostgreSQL. */
async function prepare(t: TestContext, engine: Engine, settings: Settings) {
  const home = mkdtempSync(join(tmpdir(), 'moorage-start-'))
  t.after(() => rmSync(home, { recursive: true, force: true }))
  const database = engine === 'postgres' ? await freshPostgres() : undefined
  t.after(() => database?.drop())
  const env = {
    MOORAGE_DATA: join(home, 'data'),
    MOORAGE_INIT_KEY: newKey(randomBytes),
    PORT: '0',
    ...(database && { DATABASE_URL: database.url }),
    ...settings,
  }
  const { config } = loadConfig({ env, cwd: home })
  const countOpen = () => (database ? connectionsTo(database.url) : threads())
  return { config, countOpen }
}

function threads(): number {
  return process.getActiveResourcesInfo().filter((kind) => kind === 'MessagePort').length
}

async function connectionsTo(url: string): Promise<number> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const { rowCount } = await client.query('select 1 from pg_stat_activity where datname = current_database()')
  await client.end()
  return (rowCount ?? 1) - 1
}

const log = createLog({ level: 'silent', format: 'json' })

test('a start with a damaged database names the file and what to do', async (t) => {
  const { config } = await prepare(t, 'sqlite', {})
  const file = join(config.data, 'moorage.db')
  mkdirSync(config.data)
  writeFileSync(file, randomBytes(8192))
  await assert.rejects(startApp(config, { log }), ({ message }: Error) => {
    assert.ok(message.startsWith(`${file} is damaged`), message)
    assert.match(message, /`moorage restore`/)
    return true
  })
})

for (const engine of ANY_ENGINE) {
  describe(`a start that fails partway, on ${engine}`, () => {
    test('closes the database if the certificate is deleted after it was checked', async (t) => {
      const folder = mkdtempSync(join(tmpdir(), 'moorage-tls-'))
      t.after(() => rmSync(folder, { recursive: true, force: true }))
      const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')]
      copyFileSync(tlsFile('server.pem'), cert)
      copyFileSync(tlsFile('server-key.pem'), key)
      const tls = { MOORAGE_SERVER__TLS__CERT: cert, MOORAGE_SERVER__TLS__KEY: key }
      const { config, countOpen } = await prepare(t, engine, tls)
      const before = await countOpen()
      rmSync(cert)
      await assert.rejects(startApp(config, { log }), { code: 'ENOENT' })
      await until('nothing is left open', async () => (await countOpen()) === before)

      copyFileSync(tlsFile('server.pem'), cert)
      const app = await startApp(config, { log })
      await app.stop()
      await until('nothing is left open', async () => (await countOpen()) === before)
    })

    test('closes the database if the port is in use', async (t) => {
      const other = createServer()
      await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
      t.after(() => other.close())
      const { port } = other.address() as { port: number }
      const { config, countOpen } = await prepare(t, engine, { PORT: String(port) })
      const before = await countOpen()
      await assert.rejects(startApp(config, { log }), { code: 'EADDRINUSE' })
      await until('nothing is left open', async () => (await countOpen()) === before)
    })
  })
}
