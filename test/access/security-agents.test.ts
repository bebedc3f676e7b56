import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { fieldsOf } from '../support/clients/refusal.ts'
import { rowsOf } from '../support/inside.ts'
import { untilHolds } from '../support/running/until.ts'
import { betweenNodes, onManyNodes, type Service } from '../support/service/service.ts'
import { createWebhook, listDeliveries } from '../support/slices/webhooks.ts'

const settings = { MOORAGE_SERVER__TRUSTED_PROXIES: '127.0.0.1' }

onManyNodes(
  'security of agents',
  (service, engine) => {
    const create = (name: string, security: unknown) =>
      service().call('POST', '/v1/agents', { body: { name, security } })
    const get = async (name: string, headers: Record<string, string> = {}) =>
      (await service().call('GET', `/v1/agents/${name}`, { headers })).status
    const key = (body: Record<string, unknown>) => newKey(service(), body)

    test('limit the agents that a key sees by the IP address of each request', async () => {
      await create('quay', { ipWhitelist: { enabled: true, addresses: ['192.0.2.1'] } })
      const { secret } = await key({ role: 'caller' })
      const shownTo = async (address: string) => {
        const options = { key: secret, headers: { 'X-Forwarded-For': address } }
        const own = await service().call('GET', '/v1/keys/self/agents?sort=name', options)
        const models = await service().call('GET', '/v1/models', options)
        const named = own.body.data.map(({ name }: { name: string }) => name)
        assert.deepEqual(models.body.data.map(({ id }: { id: string }) => id).toSorted(), named)
        return named
      }
      for (let i = 0; i < 2; i++) {
        assert.deepEqual(await shownTo('192.0.2.1'), ['hello', 'quay'])
        assert.deepEqual(await shownTo('192.0.2.2'), ['hello'])
      }
    })

    test('two agents can have different settings in one service', async () => {
      await create('office', { ipWhitelist: { enabled: true, addresses: ['192.0.2.0/24'] } })
      await create('private', { enforceHttps: true, ipWhitelist: { enabled: true, addresses: ['198.51.100.1'] } })
      const office = { 'X-Forwarded-For': '192.0.2.1' }
      const home = { 'X-Forwarded-For': '198.51.100.1' }
      const https = { 'X-Forwarded-Proto': 'https' }
      assert.deepEqual([await get('office', office), await get('office', home), await get('office')], [200, 403, 403])
      assert.deepEqual([await get('private', { ...home, ...https }), await get('private', home)], [200, 403])
      assert.equal(await get('private', { ...office, ...https }), 403)
      assert.equal(await get('hello'), 200)
    })

    test('apply to every route under the agent, by id and by name, and to creating its keys and webhooks', async () => {
      const { body } = await create('walled', { ipWhitelist: { enabled: true, addresses: [] } })
      for (const ref of ['walled', body.data.id]) {
        for (const [method, path, sent] of [
          ['GET', `/v1/agents/${ref}`],
          ['PATCH', `/v1/agents/${ref}`, { temperature: 1 }],
          ['DELETE', `/v1/agents/${ref}`],
          ['GET', `/v1/agents/${ref}/deployments`],
          ['POST', `/v1/agents/${ref}/deployments`, { environment: 'production', version: '1' }],
          ['POST', '/v1/keys', { name: 'k', agent_id: ref, role: 'viewer' }],
          ['POST', '/v1/webhooks', { agent_id: ref, url: 'https://example.com/', events: ['*'] }],
        ] as const) {
          const reply = await service().call(method, path, { body: sent })
          assert.equal(reply.status, 403, `${method} ${path}`)
          assert.equal(reply.body.error.code, 'forbidden')
        }
      }
    })

    test('apply to its webhooks, their deliveries and its keys, including reads', async () => {
      const { body } = await create('observed', null)
      const agent_id = body.data.id
      const own = await createWebhook(service(), { agent_id, url: 'https://receiver.example/own' })
      const all = await createWebhook(service(), { url: 'https://receiver.example/all' })
      const { id: key_id } = await key({ role: 'viewer', agent_id })
      await service().call('POST', '/v1/agents/observed/invoke', { body: { message: 'the answer' } })
      const [ownDelivery] = await listDeliveries(service(), own.id)
      const [delivery] = await listDeliveries(service(), all.id)
      const security = { ipWhitelist: { enabled: true, addresses: [] } }
      assert.equal((await service().call('PATCH', '/v1/agents/observed', { body: { security } })).status, 200)
      for (const [method, path] of [
        ['GET', `/v1/webhooks/${own.id}`],
        ['GET', `/v1/webhooks/${own.id}/deliveries`],
        ['GET', `/v1/webhooks/${own.id}/deliveries/${ownDelivery.id}`],
        ['GET', `/v1/webhooks/${all.id}/deliveries/${delivery.id}`],
        ['POST', `/v1/webhooks/${all.id}/deliveries/${delivery.id}/redeliver`],
        ['GET', `/v1/keys/${key_id}`],
        ['GET', `/v1/keys/${key_id}/mfa`],
      ] as const) {
        const reply = await service().call(method, path)
        assert.equal(reply.status, 403, `${method} ${path}`)
        assert.equal(reply.body.error.code, 'forbidden')
      }
      assert.equal((await service().call('GET', `/v1/webhooks/${all.id}`)).status, 200)
      assert.equal((await service().call('DELETE', `/v1/webhooks/${all.id}`)).status, 200)
    })

    test('take effect immediately when they change', async () => {
      await create('changing', null)
      assert.equal(await get('changing'), 200)
      const patch = (security: unknown, headers = {}) =>
        service().call('PATCH', '/v1/agents/changing', { body: { security }, headers })
      const listed = { 'X-Forwarded-For': '192.0.2.1' }
      assert.equal((await patch({ ipWhitelist: { enabled: true, addresses: ['192.0.2.1'] } })).status, 200)
      assert.equal(await get('changing'), 403)
      assert.equal((await patch(null)).status, 403)
      assert.equal((await patch(null, listed)).status, 200)
      assert.equal(await get('changing'), 200)
    })

    betweenNodes(engine)('apply on every node immediately', async () => {
      const other = await service().beside()
      try {
        await create('everywhere', null)
        const there = async () => (await other.call('GET', '/v1/agents/everywhere')).status
        assert.equal(await there(), 200)
        const body = { security: { ipWhitelist: { enabled: true, addresses: [] } } }
        assert.equal((await service().call('PATCH', '/v1/agents/everywhere', { body })).status, 200)
        await untilHolds(async () => assert.equal(await there(), 403))
      } finally {
        await other.stop()
      }
    })

    test('403 for a key without manage that sets them, on create and update, or removes them', async () => {
      const { secret: developer } = await key({ role: 'developer' })
      const block = { rateLimit: { enabled: true, requests: 5, window: '1m' } }
      const { status, body } = await service().call('POST', '/v1/agents', {
        key: developer,
        body: { name: 'sneaky', security: block },
      })
      assert.deepEqual([status, body.error.code], [403, 'forbidden'])
      await create('guarded', block)
      for (const security of [block, null]) {
        const reply = await service().call('PATCH', '/v1/agents/guarded', { key: developer, body: { security } })
        assert.equal(reply.status, 403)
      }
    })

    test('403 for a key that sets up auth for tokens that would have more permissions or live longer than the key', async () => {
      const auth = { type: 'jwt', secret: 's'.repeat(32) }
      const { secret: some } = await key({ permissions: ['read', 'write', 'manage'] })
      const refused = await service().call('POST', '/v1/agents', { key: some, body: { name: 'lifted', auth } })
      assert.deepEqual([refused.status, refused.body.error.code], [403, 'forbidden'])
      const expires_at = new Date(Date.now() + 3_600_000).toISOString()
      const { secret: passing } = await key({ role: 'admin', expires_at })
      const outlived = await service().call('POST', '/v1/agents', { key: passing, body: { name: 'lifted', auth } })
      assert.deepEqual([outlived.status, outlived.body.error.code], [403, 'forbidden'])
      const created = await service().call('POST', '/v1/agents', { body: { name: 'lifted', auth } })
      assert.equal(created.status, 201)
      assert.deepEqual(created.body.data.auth, { type: 'jwt', secret: '…ssss' })
    })

    describe('rateLimit', () => {
      test('applies to all callers of the agent together, in addition to their tiers, with its own headers', async () => {
        await create('busy', { rateLimit: { enabled: true, requests: 2, window: '10m' } })
        await create('idle', { rateLimit: { enabled: true, requests: 2, window: '10m' } })
        const { secret: other } = await key({ role: 'viewer' })
        const ask = (name: string, asker?: string) =>
          service().call('GET', `/v1/agents/${name}`, asker === undefined ? {} : { key: asker })
        const first = await ask('busy')
        assert.deepEqual([first.status, first.headers.get('x-ratelimit-limit')], [200, '2'])
        assert.equal(first.headers.get('x-ratelimit-remaining'), '1')
        assert.equal((await ask('busy', other)).status, 200)
        const refused = await ask('busy', other)
        assert.equal(refused.status, 429)
        const told = 'Rate limit exceeded: this agent allows 2 requests from all callers together (security.rateLimit)'
        assert.equal(refused.body.error.message, `${told}. Try again in ${refused.body.error.retry_after} s.`)
        assert.equal(refused.headers.get('x-ratelimit-limit'), '2')
        assert.equal(refused.headers.get('x-ratelimit-remaining'), '0')
        assert.equal(refused.headers.get('retry-after'), String(refused.body.error.retry_after))
        assert.equal((await ask('idle')).status, 200)
        service().advance(refused.body.error.retry_after * 1000)
        assert.equal((await ask('busy')).status, 200)
      })

      test('if several limits apply, the headers report the one with the least remaining', async () => {
        await create('roomy', { rateLimit: { enabled: true, requests: 1_000_000, window: '1s' } })
        const { headers } = await service().call('GET', '/v1/agents/roomy')
        assert.equal(headers.get('x-ratelimit-limit'), '10000')
      })
    })

    const impossible: [name: string, body: Record<string, unknown>, field: string][] = [
      ['mtls without server.tls', { security: { mtls: { enabled: true, caCert: 'x' } } }, 'security.mtls.enabled'],
      [
        'a range that is none',
        { security: { ipWhitelist: { enabled: true, addresses: ['10.0.0.0/33'] } } },
        'security.ipWhitelist.addresses.0',
      ],
      ['an unknown setting', { security: { ipWhiteList: {} } }, 'security.ipWhiteList'],
      ['a JWT secret of 31 bytes', { auth: { type: 'jwt', secret: 'x'.repeat(31) } }, 'auth.secret'],
      [
        'a provider inside the network',
        { auth: { type: 'oauth2', provider: 'https://169.254.169.254', clientId: 'c' } },
        'auth.provider',
      ],
      [
        'a provider without https',
        { auth: { type: 'oauth2', provider: 'http://id.example.com', clientId: 'c' } },
        'auth.provider',
      ],
      [
        'the hint of a secret in its place',
        { auth: { type: 'oauth2', provider: 'https://id.example.com', clientId: 'c', clientSecret: '…abcd' } },
        'auth.clientSecret',
      ],
    ]
    for (const [name, body, field] of impossible) {
      test(`400 for ${name}`, async () => {
        const reply = await service().call('POST', '/v1/agents', { body: { name: 'impossible', ...body } })
        assert.equal(reply.status, 400)
        assert.ok(fieldsOf(reply.body).includes(field), reply.text)
      })
    }

    test('the secrets in auth are in no reply, log or stored file', async () => {
      const clientSecret = 'client-secret-that-nobody-may-see-8213'
      const auth = { type: 'oauth2', provider: 'https://id.example.com', clientId: 'c', clientSecret }
      const created = await service().call('POST', '/v1/agents', { body: { name: 'secretive', auth } })
      assert.equal(created.body.data.auth.clientSecret, '…8213')
      const shown = await service().call('GET', '/v1/agents/secretive')
      assert.equal(shown.text.includes(clientSecret), false)
      assert.equal(service().log().includes(clientSecret), false)
      const rows = await rowsOf(service(), 'agents')
      assert.equal(JSON.stringify(rows).includes(clientSecret), false)
    })
  },
  settings,
)

async function newKey(service: Service, body: Record<string, unknown>): Promise<{ id: string; secret: string }> {
  const { body: reply } = await service.call('POST', '/v1/keys', { body: { name: 'test', ...body } })
  return reply.data
}
