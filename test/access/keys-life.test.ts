import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { statusOf } from '../../src/keys/key.ts'
import { meanwhile } from '../support/running/meanwhile.ts'
import { until } from '../support/running/until.ts'
import { ANY_ENGINE, betweenNodes, onManyNodes, type Service, withService } from '../support/service/service.ts'
import { createAgent, createKey, later } from '../support/slices/resources.ts'
import { everythingStored } from '../support/stores/stored.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR

onManyNodes('the life of a key', (service, engine) => {
  const create = (body: object) => createKey(service(), body)
  const agent = (name: string) => createAgent(service(), name)
  const get = (path: string) => service().call('GET', path)
  const self = (key: string) => service().call('GET', '/v1/keys/self', { key })

  describe('POST /v1/keys/{key_id}/rotate', () => {
    const rotate = (id: string, body?: object, key?: string) =>
      service().call('POST', `/v1/keys/${id}/rotate`, { body, ...(key && { key }) })

    test('same id, new secret; for a day the old one works too', async () => {
      const { secret: old, ...record } = await create({ role: 'viewer' })
      const { status, body } = await rotate(record.id)
      assert.equal(status, 200)
      const { secret, hint, previous_secret_expires_at, ...rest } = body.data
      assert.notEqual(secret, old)
      assert.ok(Math.abs(Date.parse(previous_secret_expires_at) - Date.now() - DAY) < 10_000)
      assert.deepEqual(
        { ...rest, hint, previous_secret_expires_at: null },
        { ...record, hint: `${secret.slice(0, 8)}…${secret.slice(-4)}` },
      )
      for (const key of [old, secret]) assert.equal((await self(key)).body.data.id, record.id)

      await later(service(), DAY, async () => {
        assert.equal((await self(old)).status, 401)
        assert.equal((await self(secret)).status, 200)
        assert.equal((await get(`/v1/keys/${record.id}`)).body.data.previous_secret_expires_at, null)
      })
    })

    test('grace_period_seconds: 0 ends the old secret immediately', async () => {
      const { id, secret } = await create({ role: 'viewer' })
      const { body } = await rotate(id, { grace_period_seconds: 0 })
      assert.equal(body.data.previous_secret_expires_at, null)
      assert.equal((await self(secret)).status, 401)
      assert.equal((await self(body.data.secret)).status, 200)
    })

    test('a second rotation does not end the grace of the first secret; grace_period_seconds: 0 ends all', async () => {
      const { id, secret: first } = await create({ role: 'viewer' })
      const second = (await rotate(id, { grace_period_seconds: 7_200 })).body.data
      const third = (await rotate(id, { grace_period_seconds: 3_600 })).body.data
      assert.equal(third.previous_secret_expires_at, second.previous_secret_expires_at, 'when the last one ends')
      const statuses = async (...more: string[]) =>
        Promise.all([first, second.secret, third.secret, ...more].map(async (key) => (await self(key)).status))
      assert.deepEqual(await statuses(), [200, 200, 200])
      service().advance(3_601_000)
      assert.deepEqual(await statuses(), [200, 401, 200])
      const last = (await rotate(id, { grace_period_seconds: 0 })).body.data
      assert.equal(last.previous_secret_expires_at, null)
      assert.deepEqual(await statuses(last.secret), [401, 401, 401, 200])
    })

    test("403 for anything that would outlive the old secret: a key, a webhook, a schedule, an agent's auth", async () => {
      const { id, secret: old } = await create({ role: 'admin' })
      const agent_id = await agent('lasting')
      const hook = { url: 'https://example.com/hook', events: ['agent.completed'] }
      const made = await service().call('POST', '/v1/webhooks', { key: old, body: hook })
      assert.equal(made.status, 201, made.text)
      const timed = { message: 'Ahoy', every: '1h' }
      const schedule = await service().call('POST', `/v1/agents/${agent_id}/schedules`, { key: old, body: timed })
      assert.equal(schedule.status, 201, schedule.text)
      const { secret: fresh } = (await rotate(id, { grace_period_seconds: 3_600 })).body.data
      const auth = { type: 'jwt', secret: 'x'.repeat(40) }
      const lasting: [method: string, path: string, body?: object][] = [
        ['POST', '/v1/keys', { name: 'more', role: 'viewer' }],
        ['POST', '/v1/webhooks', hook],
        ['PATCH', `/v1/webhooks/${made.body.data.id}`, { url: 'https://example.com/elsewhere' }],
        ['POST', `/v1/webhooks/${made.body.data.id}/rotate-secret`],
        ['POST', `/v1/agents/${agent_id}/schedules`, timed],
        ['PATCH', `/v1/agents/${agent_id}/schedules/${schedule.body.data.id}`, { message: 'Hello' }],
        ['PATCH', `/v1/agents/${agent_id}`, { auth }],
        ['POST', '/v1/agents', { name: 'open-to-tokens', auth }],
      ]
      for (const [method, path, body] of lasting) {
        const reply = await service().call(method, path, { key: old, body })
        assert.equal(reply.status, 403, `${method} ${path}: ${reply.text}`)
        assert.match(reply.body.error.message, /has been rotated/)
      }
      const patched = await service().call('PATCH', `/v1/agents/${agent_id}`, { key: fresh, body: { auth } })
      assert.equal(patched.status, 200, patched.text)
    })

    test('409 for a sixth secret in its grace period', async () => {
      const { id } = await create({ role: 'viewer' })
      for (let times = 0; times < 5; times++) assert.equal((await rotate(id)).status, 200)
      const { status, body } = await rotate(id)
      assert.deepEqual([status, body.error.code], [409, 'conflict'])
      assert.equal((await rotate(id, { grace_period_seconds: 0 })).status, 200)
    })

    test('a key may rotate itself', async () => {
      const { id, secret } = await create({ permissions: ['manage'] })
      const { status } = await rotate(id, {}, secret)
      assert.equal(status, 200)
    })

    for (const seconds of ['-1', '604801', '1.5', '"60"', 'null', '1e400']) {
      test(`400 for a grace period of ${seconds}`, async () => {
        const { id } = await create({ role: 'viewer' })
        const body = `{"grace_period_seconds":${seconds}}`
        const reply = await service().call('POST', `/v1/keys/${id}/rotate`, { body })
        assert.equal(reply.status, 400)
        assert.equal(reply.body.error.details[0].field, 'grace_period_seconds')
      })
    }

    test('409 for a key that is revoked', async () => {
      const { id } = await create({ role: 'viewer' })
      await service().call('DELETE', `/v1/keys/${id}`)
      const { status, body } = await rotate(id)
      assert.equal(status, 409)
      assert.equal(body.error.code, 'conflict')
    })

    test('404 for a key that does not exist', async () => {
      assert.equal((await rotate('key_none')).status, 404)
    })
  })

  describe('DELETE /v1/keys/{key_id}', () => {
    const revoke = (id: string, key?: string) => service().call('DELETE', `/v1/keys/${id}`, { ...(key && { key }) })

    test('200; after that neither the secret nor a secret in its grace period works', async () => {
      const { id, secret: old } = await create({ role: 'viewer' })
      const { secret } = (await service().call('POST', `/v1/keys/${id}/rotate`)).body.data
      for (const key of [old, secret]) assert.equal((await self(key)).status, 200)
      const { status, body } = await revoke(id)
      assert.equal(status, 200)
      const { revoked_at } = body.data
      assert.deepEqual(body, { success: true, data: { id, revoked: true, revoked_at } })
      for (const key of [old, secret]) assert.equal((await self(key)).status, 401)
      const shown = (await get(`/v1/keys/${id}`)).body.data
      assert.deepEqual([shown.status, shown.revoked_at], ['revoked', revoked_at])
    })

    test('revoking again changes nothing', async () => {
      const { id } = await create({ role: 'viewer' })
      const first = await revoke(id)
      const again = await later(service(), HOUR, () => revoke(id))
      assert.deepEqual(again.body, first.body)
    })

    betweenNodes(engine)('another node refuses the key as soon as it is notified', async () => {
      const node = await service().beside()
      try {
        const { id, secret } = await create({ role: 'viewer' })
        assert.equal((await node.call('GET', '/v1/keys/self', { key: secret })).status, 200)
        await revoke(id)
        const isRefused = async () => (await node.call('GET', '/v1/keys/self', { key: secret })).status === 401
        await until('the other node refuses the revoked key', isRefused)
      } finally {
        await node.stop()
      }
    })

    test('403 if a key limited to one agent revokes a key outside that agent', async () => {
      const agent_id = await agent('revoking')
      const { secret } = await create({ role: 'admin', agent_id })
      const other = await create({ role: 'viewer' })
      assert.equal((await revoke(other.id, secret)).status, 403)
      assert.equal((await self(other.secret)).status, 200)
    })

    test('deleting an agent deletes the keys limited to it', async () => {
      const agent_id = await agent('leaving')
      const { id, secret } = await create({ role: 'viewer', agent_id })
      assert.equal((await self(secret)).status, 200)
      assert.equal((await service().call('DELETE', '/v1/agents/leaving')).status, 200)
      assert.equal((await self(secret)).status, 401)
      assert.equal((await get(`/v1/keys/${id}`)).status, 404)
    })
  })

  test('a key works until its last millisecond, and not in it', () => {
    const key = { revoked_at: null, expires_at: 1_000 }
    assert.equal(statusOf(key, 999), 'active')
    assert.equal(statusOf(key, 1_000), 'expired')
  })

  test('the secret is in the replies that make it, and nowhere else', async () => {
    const headers = { 'Idempotency-Key': 'made-once' }
    const body = { name: 'secretive', role: 'admin' }
    const created = await service().call('POST', '/v1/keys', { body, headers })
    const replayed = await service().call('POST', '/v1/keys', { body, headers })
    assert.equal(replayed.headers.get('idempotent-replayed'), 'true')
    assert.deepEqual(replayed.body, created.body)
    const { id, secret: first } = created.body.data
    const rotate = (key: string) =>
      service().call('POST', `/v1/keys/${id}/rotate`, { headers: { 'Idempotency-Key': key } })
    const rotated = [await rotate('rotated'), await rotate('rotated'), await rotate('rotated-again')]
    const [second, replayedSecond, third] = rotated.map(({ body: { data } }) => data.secret)
    assert.equal(replayedSecond, second)
    const secrets = [first, second, third]
    await self(third)

    const told = await Promise.all(
      ['/v1/keys?limit=100', `/v1/keys/${id}`, '/v1/keys/self', '/v1/audit-log?limit=100'].map(get),
    )
    await service().restart()
    const stored = await everythingStored(service())
    assert.ok(stored.includes(id) && service().log().includes('POST'), 'looked in the right places')
    for (const secret of secrets) {
      for (const { text } of told) assert.ok(!text.includes(secret))
      assert.ok(!stored.includes(secret), 'stored in plain text')
      assert.ok(!service().log().includes(secret), 'logged')
    }
  })
})

for (const engine of ANY_ENGINE) {
  describe(`revoking the last key that can manage the whole service, on ${engine}`, () => {
    test('409 if only scoped, expired, revoked or lesser keys remain; 200 once another admin key exists', () =>
      withService(engine, async (service) => {
        const admin = await idOf(service, service.admin)
        await createKey(service, { role: 'admin', agent_id: 'hello' })
        await createKey(service, { role: 'developer' })
        await createKey(service, { role: 'admin', expires_at: new Date(Date.now() + HOUR).toISOString() })
        const revoked = await createKey(service, { role: 'admin' })
        assert.equal((await service.call('DELETE', `/v1/keys/${revoked.id}`)).status, 200)
        service.advance(HOUR)

        const { status, body } = await service.call('DELETE', `/v1/keys/${admin}`)
        assert.equal(status, 409)
        assert.equal(body.error.code, 'conflict')
        const { secret } = await createKey(service, { permissions: ['manage'] })
        assert.equal((await service.call('DELETE', `/v1/keys/${admin}`, { key: secret })).status, 200)
      }))

    test('if two admin keys revoke each other at the same time, one remains', () =>
      withService(engine, async (service) => {
        const admin = await idOf(service, service.admin)
        const other = await createKey(service, { role: 'admin' })
        assert.equal(await idOf(service, other.secret), other.id, 'both keys are known to the node')
        const replies = await meanwhile(
          service,
          'select id from keys for update',
          () => service.call('DELETE', `/v1/keys/${other.id}`),
          () => service.call('DELETE', `/v1/keys/${admin}`, { key: other.secret }),
        )
        const statuses = replies.map(({ status }) => status)
        assert.deepEqual(statuses.toSorted(), [200, 409])
      }))
  })
}

async function idOf(service: Service, key: string): Promise<string> {
  return (await service.call('GET', '/v1/keys/self', { key })).body.data.id
}
