import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import pg from 'pg'
import { until, untilHolds } from '../../support/running/until.ts'
import { type ChildService, startChildService } from '../../support/service/child-service.ts'
import { ANY_ENGINE, type Reply } from '../../support/service/service.ts'
import { lockWaiters } from '../../support/stores/lock-waiters.ts'
import { testPostgres } from '../../support/stores/postgres.ts'

for (const engine of ANY_ENGINE) {
  describe(`kill -9 during a burst of creates, invocations and keys, on ${engine}`, () => {
    test('after the restart everything that was answered is there', async (t) => {
      const service = await startChildService(t, engine)
      const createKey = (name: string) =>
        service.send('POST', '/v1/keys', { name, role: 'viewer' }, { 'Idempotency-Key': name })

      const agents = untilItDies(4, (name) => service.send('POST', '/v1/agents', { name, metadata: { proof: name } }))
      const runs = untilItDies(4, (name) => service.send('POST', '/v1/agents/hello/invoke', { message: name }))
      const keys = untilItDies(4, createKey)
      const all = [agents, runs, keys]
      await until('each burst is under way', () => all.every(({ answered }) => answered.size >= 20))
      await service.kill()
      await Promise.all(all.map(({ ended }) => ended))
      await service.start()

      for (const [name, { data }] of agents.answered) {
        const kept = await service.send('GET', `/v1/agents/${data.id}`)
        assert.deepEqual(kept?.body.data, data, name)
      }
      for (const [name, { data }] of runs.answered) {
        const receipt = await service.send('GET', `/v1/agents/hello/invocations/${data.request_id}`)
        assert.deepEqual([receipt?.body.data?.status, receipt?.body.data?.message], ['completed', name])
      }
      for (const [name, { data }] of keys.answered) {
        const replay = await createKey(name)
        assert.equal(replay?.headers.get('idempotent-replayed'), 'true')
        assert.deepEqual(replay?.body.data, data)
      }
      const made = await listAll(service, '/v1/agents?sort=created_at')
      const inFlight = made.length - 1 - agents.answered.size
      assert.ok(inFlight >= 0 && inFlight <= 4, `${inFlight} were kept without an answer`)

      // The audit log has what was done, and nothing else; its chain holds.
      const entries = await untilHolds(async () => {
        const found = await listAll(service, '/v1/audit-log?sort=created_at')
        assert.ok(found.every(({ seq }) => seq !== null))
        return found.toSorted((a, b) => Number(a.seq) - Number(b.seq))
      })
      const logged = entries.filter(({ action }) => action === 'createAgent').map(({ target }) => target)
      const burst = made.filter(({ name }) => name?.startsWith('burst-')).map(({ id }) => id)
      assert.deepEqual(logged.toSorted(), burst.toSorted())
      for (const [i, { seq, prev_hash }] of entries.entries()) {
        if (i > 0) assert.deepEqual([seq, prev_hash], [Number(entries[i - 1]?.seq) + 1, entries[i - 1]?.hash])
      }

      assert.equal(await service.terminate(), 0, 'and it ends in order')
      assert.ok(!service.output().includes(service.admin), 'its output tells no key')
      assert.ok(!service.output().includes(keys.answered.values().next().value.data.secret))
    })
  })
}

test('kill -9 during a request with an Idempotency-Key, restart, retry at once: it is done once', async (t) => {
  const database = await testPostgres()
  const client = new pg.Client({ connectionString: database.url })
  await client.connect()
  t.after(async () => {
    await client.end()
    await database.drop()
  })
  const service = await startChildService(t, 'postgres', { DATABASE_URL: database.url })
  const send = () => service.send('POST', '/v1/agents', { name: 'interrupted' }, { 'Idempotency-Key': 'interrupted' })
  const claims = async () => (await client.query(`select status from claims where key = 'interrupted'`)).rows

  await client.query('begin')
  await client.query('lock table agents in exclusive mode')
  const interrupted = send()
  await until('the request waits for the table', () => lockWaiters(client))
  await service.kill()
  assert.equal(await interrupted, undefined)
  await client.query('rollback')

  await service.start()
  assert.equal((await service.send('GET', '/v1/agents/interrupted'))?.status, 404, 'it left nothing behind')
  assert.deepEqual(await claims(), [], 'its key is free')
  const retried = await send()
  assert.equal(retried?.status, 201)
  assert.equal(retried?.headers.get('idempotent-replayed'), null)
  const again = await send()
  assert.equal(again?.headers.get('idempotent-replayed'), 'true')
  assert.deepEqual(again?.body, retried?.body)
})

test('the first start prints one admin key; the second prints none', async (t) => {
  const service = await startChildService(t, 'sqlite', { MOORAGE_INIT_KEY: '' })
  const key = /mrg_[0-9A-Za-z]{49}/.exec(service.output())?.[0]
  const self = () => service.send('GET', '/v1/keys/self', undefined, { Authorization: `Bearer ${key}` })
  assert.partialDeepStrictEqual((await self())?.body.data, {
    tier: 'enterprise',
    agent_id: null,
    permissions: ['read', 'write', 'delete', 'manage'],
  })
  const printed = service.output().length
  await service.kill()
  await service.start()
  assert.doesNotMatch(service.output().slice(printed), /mrg_/)
  assert.equal((await self())?.status, 200)
})

test('a store from before the first release: the start ends with one sentence and code 1', async (t) => {
  const database = await testPostgres()
  t.after(() => database.drop())
  const client = new pg.Client({ connectionString: database.url })
  await client.connect()
  await client.query('create table schema_version (version integer not null)')
  await client.end()
  const start = startChildService(t, 'postgres', { DATABASE_URL: database.url })
  await assert.rejects(start, /ended with 1:\nmoorage: the database is older than the first release/)
})

type ListedItem = {
  id: string
  name?: string
  action?: string
  target: string
  seq: number
  hash: string
  prev_hash: string
}

/** Every page of a list. */
async function listAll(service: ChildService, path: string): Promise<ListedItem[]> {
  const all: ListedItem[] = []
  for (;;) {
    const { data, pagination } = await service.call('GET', `${path}&limit=100&offset=${all.length}`)
    all.push(...data)
    if (!pagination.has_more) return all
  }
}

type Burst = {
  /** The names that were answered, and with what. */
  // oxlint-disable-next-line typescript/no-explicit-any
  answered: Map<string, any>
  ended: Promise<unknown>
}

/** So many clients that send one request after the other, until nobody answers any more. */
function untilItDies(clients: number, send: (name: string) => Promise<Reply | undefined>): Burst {
  const answered: Burst['answered'] = new Map()
  let next = 0
  const run = async () => {
    for (;;) {
      const name = `burst-${next++}`
      const reply = await send(name)
      if (!reply) return
      assert.ok(reply.status < 300, reply.text)
      answered.set(name, reply.body)
    }
  }
  return { answered, ended: Promise.all(Array.from({ length: clients }, run)) }
}
