import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { sql } from 'kysely'
import { newKey } from '../../../src/security/key-format.ts'
import { isPassing } from '../../../src/storage/failures.ts'
import { assertRefusal } from '../../support/clients/refusal.ts'
import { allEvents } from '../../support/clients/sse.ts'
import { hearsChanges, storageOf, storeOf } from '../../support/inside.ts'
import { LOCAL_TOOLS, startLocalServer } from '../../support/outside/local-server.ts'
import { until, untilHolds } from '../../support/running/until.ts'
import { newAgent } from '../../support/service/agents.ts'
import { type Service, startService } from '../../support/service/service.ts'
import { createKey } from '../../support/slices/resources.ts'
import { type PostgresServer, startPostgres } from '../../support/stores/postgres.ts'

describe('a database that goes away', () => {
  let postgres: PostgresServer
  let first: Service
  let second: Service
  before(async () => {
    postgres = await startPostgres()
    first = await startService('postgres', {
      DATABASE_URL: postgres.url,
      ...LOCAL_TOOLS,
    })
    second = await first.beside()
  })
  after(async () => {
    await second.stop()
    await first.stop()
    await postgres.close()
  })
  /** A node answers from memory until it has noticed. */
  const takeAway = async () => {
    await postgres.stop()
    const isNoticed = () => [first, second].every((node) => !hearsChanges(node))
    await until('both nodes have noticed', isNoticed)
  }

  test('503 while it is gone, and everything continues when it is back', async () => {
    const { id, secret } = await createKey(first, { role: 'viewer' })
    for (const node of [first, second]) {
      assert.equal((await node.call('GET', '/v1/agents', { key: secret })).status, 200)
    }
    const create = () =>
      first.call('POST', '/v1/agents', { body: { name: 'retried' }, headers: { 'Idempotency-Key': 'retried' } })

    await takeAway()

    const unavailable = [
      await first.call('GET', '/v1/agents', { key: secret }),
      await first.call('GET', '/v1/agents', { key: newKey(randomBytes) }),
      await second.call('GET', '/v1/keys/self'),
      await create(),
    ]
    for (const { status, headers, body } of unavailable) {
      assertRefusal({ status, headers, body }, 503, 'unavailable', { retry_after: 1 })
      assert.equal(headers.get('retry-after'), '1')
    }
    const mistyped = await first.call('GET', '/v1/agents', { key: `${secret.slice(0, -1)}?` })
    assert.equal(mistyped.status, 401, 'its checksum is wrong: nobody asks the database')
    assert.equal((await first.call('GET', '/healthz')).status, 200, 'a restart would not help')
    // The node checks at most once a second, and its last check might be older than the outage.
    await untilHolds(async () => {
      const { status, body } = await first.call('GET', '/readyz')
      assert.deepEqual([status, body], [503, { status: 'not_ready', reason: 'the database does not accept writes' }])
    })

    await postgres.start()

    for (const node of [first, second]) {
      await until('it is ready again', async () => (await node.call('GET', '/readyz')).status === 200)
    }
    const created = await create()
    assert.equal(created.status, 201, created.text)
    assert.equal((await create()).headers.get('idempotent-replayed'), 'true')

    // What one node changes, the other hears again.
    await until('the other node listens again', async () => {
      const key = await createKey(first, { role: 'viewer' })
      assert.equal((await second.call('GET', '/v1/keys/self', { key: key.secret })).status, 200)
      await first.call('DELETE', `/v1/keys/${key.id}`)
      return (await second.call('GET', '/v1/keys/self', { key: key.secret })).status === 401
    })
    assert.equal((await first.call('GET', `/v1/keys/${id}`)).status, 200)
  })

  test('an open stream follows its run to the end, on the node that runs it and on another', async (t) => {
    const released = Promise.withResolvers<void>()
    const tool = await startLocalServer(async (_request, response) => {
      await released.promise
      response.end('low tide')
    })
    t.after(() => tool.close())
    const agent = await newAgent(first, {
      model: 'builtin/script',
      script: { rules: [{ call: { tool: 'tide' }, reply: 'It is {{result}}' }] },
      tools: [{ type: 'http', name: 'tide', url: `${tool.url}/` }],
    })
    const { body } = await first.call('POST', `/v1/agents/${agent}/invoke`, {
      body: { message: 'go' },
      headers: { Prefer: 'respond-async' },
    })
    const path = `/v1/agents/${agent}/invocations/${body.data.request_id}`
    await until('the run', async () => (await first.call('GET', path)).body.data.status === 'running')
    const open = ({ url, admin }: Service) =>
      fetch(`${url}${path}/stream`, { headers: { Authorization: `Bearer ${admin}` } })
    const responses = [await open(first), await open(second)]
    assert.deepEqual(
      responses.map(({ status }) => status),
      [200, 200],
    )
    const streams = responses.map(allEvents)

    await takeAway()
    const gone = await Promise.all([first, second].map((node) => node.call('GET', path)))
    assert.deepEqual(
      gone.map(({ status }) => status),
      [503, 503],
    )
    await postgres.start()
    for (const node of [first, second]) {
      await until('it is ready again', async () => (await node.call('GET', '/readyz')).status === 200)
    }
    released.resolve()

    for (const events of await Promise.all(streams)) {
      const text = events.map(({ event, data }) => (event === 'delta' ? (data as { text: string }).text : '')).join('')
      assert.equal(text, 'It is low tide')
      assert.equal(events.at(-1)?.event, 'done')
    }
  })

  test('a change while a node could not listen is not served from its cache', async () => {
    const { id, secret } = await createKey(first, { role: 'viewer' })
    assert.equal((await second.call('GET', '/v1/keys/self', { key: secret })).status, 200)
    await postgres.stop()
    await postgres.start()
    await until('the first node deletes it', async () => {
      return (await first.call('DELETE', `/v1/keys/${id}`)).status < 500
    })
    const isRefused = async () => (await second.call('GET', '/v1/keys/self', { key: secret })).status === 401
    await until('the other node refuses the key', isRefused)
  })

  test('a run ends if its agent was paused while its node could not listen', async () => {
    for (const node of [first, second]) {
      await until('it is ready', async () => (await node.call('GET', '/readyz')).status === 200)
    }
    const script = { rules: [{ reply: 'late', delay_ms: 60_000 }] }
    const agent = await newAgent(first, { model: 'builtin/script', script })
    const answer = second.call('POST', `/v1/agents/${agent}/invoke`, { body: { message: 'wait' } })
    const list = `/v1/agents/${agent}/invocations?status=running`
    await until('the run', async () => (await first.call('GET', list)).body.data.length === 1)
    await sql`select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'moorage listener'`.execute(
      storeOf(first),
    )
    assert.equal((await first.call('PATCH', `/v1/agents/${agent}`, { body: { status: 'paused' } })).status, 200)
    const { status, body } = await answer
    assert.deepEqual([status, body.error.code], [409, 'conflict'])
  })

  test('a broken connection makes only its own transaction fail', async () => {
    const storage = storageOf(first)
    const cutOff = storage.transaction(async (db) => {
      const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(db)
      await sql`select pg_terminate_backend(${rows[0]?.pid})`.execute(storage.db)
      await until('the connection is gone', async () => {
        const left = await sql`select 1 from pg_stat_activity where pid = ${rows[0]?.pid}`.execute(storage.db)
        return left.rows.length === 0
      })
      await sql`select 1`.execute(db)
    })
    await assert.rejects(cutOff, (error) => isPassing(error))
    assert.equal((await first.call('GET', '/v1/agents')).status, 200)
  })

  test('the logs report the outage, but never the database password', () => {
    const log = first.log() + second.log()
    assert.match(log, /the database is not available/)
    assert.ok(!log.includes(new URL(postgres.url).password))
  })
})

test('a run stops on a node that could not renew its lease in time: another node may have it by then', async (t) => {
  const postgres = await startPostgres()
  const service = await startService('postgres', { DATABASE_URL: postgres.url, ...LOCAL_TOOLS })
  let [isCalled, isLeft] = [false, false]
  const tool = await startLocalServer((_request, response) => {
    isCalled = true
    response.once('close', () => {
      isLeft = true
    })
  })
  t.after(async () => {
    await service.stop()
    await tool.close()
    await postgres.close()
  })
  const agent = await newAgent(service, {
    model: 'builtin/script',
    script: { rules: [{ call: { tool: 'tide' } }] },
    tools: [{ type: 'http', name: 'tide', url: `${tool.url}/`, timeout_ms: 120_000 }],
  })
  const answer = service.call('POST', `/v1/agents/${agent}/invoke`, { body: { message: 'go' } })
  await until('its tool is called', () => isCalled)
  await postgres.stop()
  service.advance(31_000)
  await until('the call is given up', () => isLeft)
  await postgres.start()
  const { status, body } = await answer
  assert.deepEqual([status, body.error?.code], [409, 'conflict'])
})
