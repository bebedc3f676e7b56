import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { operations } from '../../src/operations.ts'
import { covers, defaultRoles } from '../../src/security/permissions.ts'
import { operationsForKeys, pathOf, SAMPLE_SETTINGS, sampleBody, sampleRequest } from '../support/clients/requests.ts'
import { NOWHERE } from '../support/outside/local-server.ts'
import { onAnyEngine } from '../support/service/service.ts'
import { createAgent, createKey, idsOf } from '../support/slices/resources.ts'

const HOUR = 3_600_000

onAnyEngine(
  'authorisation',
  (service) => {
    describe('a role allows exactly what is documented, on every operation', () => {
      for (const [role, permissions] of Object.entries(defaultRoles)) {
        test(role, async () => {
          const { secret: key } = await createKey(service(), { role, tier: 'enterprise' })
          for (const operation of operationsForKeys) {
            const options = { key, body: sampleBody(operation) }
            const { status, text } = await service().call(operation.method, pathOf(operation, {}), options)
            const { permission, ownPermission } = operation.access
            const mayOwn = ownPermission !== undefined && covers(permissions, ownPermission)
            const may = permission === null || mayOwn || covers(permissions, permission)
            assert.equal(status === 403, !may, `${operation.id}: ${text}`)
          }
        })
      }
    })

    describe('a key that is limited to one agent', () => {
      let own: string
      let key: string
      let other: string
      before(async () => {
        own = await createAgent(service(), 'own')
        other = await createAgent(service(), 'other')
        key = (await createKey(service(), { role: 'admin', agent_id: own, tier: 'enterprise' })).secret
      })

      for (const operation of operationsForKeys.filter(({ path }) => path.includes('{agent_id}'))) {
        test(`${operation.method} ${operation.path}: 403 for another agent, whether or not it exists`, async () => {
          for (const agent_id of [other, 'other', 'nobody', 'agt_00000000000000000000000000']) {
            const path = pathOf(operation, { agent_id })
            const reply = await service().call(operation.method, path, { key, body: sampleBody(operation) })
            assert.equal(reply.status, 403, reply.text)
            assert.equal(reply.body.error.code, 'forbidden')
          }
        })
      }

      test('may use its own by id and by name', async () => {
        for (const ref of [own, 'own']) {
          assert.equal((await service().call('GET', `/v1/agents/${ref}`, { key })).status, 200)
        }
      })

      test('cannot create an agent: 403', async () => {
        const reply = await service().call('POST', '/v1/agents', { key, body: { name: 'another' } })
        assert.equal(reply.status, 403)
        assert.equal(reply.body.error.code, 'forbidden')
      })

      test('finds only its own in every list', async () => {
        const ownHook = await createWebhook({ agent_id: own })
        await createWebhook({ agent_id: other })
        await createWebhook({})
        const ownKey = await createKey(service(), { role: 'viewer', agent_id: own })
        await createKey(service(), { role: 'viewer', agent_id: other })
        await createKey(service(), { role: 'viewer' })
        const list = async (path: string) => idsOf(await service().call('GET', path, { key }))
        assert.deepEqual(await list('/v1/agents'), [own])
        assert.deepEqual(await list('/v1/webhooks'), [ownHook])
        assert.ok((await list('/v1/keys')).includes(ownKey.id))
        const scopes = (await service().call('GET', '/v1/keys?limit=100', { key })).body.data
        assert.ok(scopes.every(({ agent_id }: { agent_id: string }) => agent_id === own))
      })

      test('403 for a webhook of another agent or of all, to create, read, change and delete', async () => {
        const events = ['agent.completed']
        const url = `${NOWHERE}/hook`
        for (const agent_id of [other, 'nobody', null, undefined]) {
          const reply = await service().call('POST', '/v1/webhooks', { key, body: { agent_id, url, events } })
          assert.equal(reply.status, 403, reply.text)
        }
        for (const id of [await createWebhook({ agent_id: other }), await createWebhook({}), 'whk_none']) {
          for (const operation of operations.filter(({ path }) => path.includes('{webhook_id}'))) {
            const path = pathOf(operation, { webhook_id: id })
            const reply = await service().call(operation.method, path, { key, body: sampleBody(operation) })
            assert.equal(reply.status, 403, `${operation.id}: ${reply.text}`)
            assert.equal(reply.body.error.code, 'forbidden')
          }
        }
      })

      test('403 for a key of another scope, to read, rotate and revoke', async () => {
        const keys = [
          await createKey(service(), { role: 'viewer', agent_id: other }),
          await createKey(service(), { role: 'viewer' }),
        ]
        for (const id of [...keys.map((created) => created.id), 'key_none']) {
          for (const operation of operationsForKeys.filter(({ path }) => path.includes('{key_id}'))) {
            // With a wrong one-time code, these are refused before any key is read.
            if (operation.mfa?.policy === 'always') continue
            const path = pathOf(operation, { key_id: id })
            const body = operation.input?.body && sampleBody(operation)
            const reply = await service().call(operation.method, path, { key, body })
            assert.equal(reply.status, 403, `${operation.id}: ${reply.text}`)
            assert.equal(reply.body.error.code, 'forbidden')
          }
        }
        for (const { secret } of keys) {
          assert.equal((await service().call('GET', '/v1/keys/self', { key: secret })).status, 200)
        }
      })
    })

    test("404 for another agent's record under this agent's path, even for an admin", async () => {
      await createAgent(service(), 'here')
      // A client chooses the name of a set, so the other agent gets one of that name.
      const nested = operationsForKeys.filter(({ id, path }) => id !== 'putSet' && /\{agent_id\}.*\{/.test(path))
      assert.ok(nested.length > 3)
      for (const operation of nested) {
        const { method, path, body } = await sampleRequest(service(), operation)
        const elsewhere = path.replace(/\/v1\/agents\/[^/]+/, '/v1/agents/here')
        const reply = await service().call(method, elsewhere, { body })
        assert.equal(reply.status, 404, `${operation.id}: ${reply.text}`)
      }
    })

    async function createWebhook(body: object): Promise<string> {
      const webhook = { url: `${NOWHERE}/hook`, events: ['agent.completed'], ...body }
      const reply = await service().call('POST', '/v1/webhooks', { body: webhook })
      assert.equal(reply.status, 201, reply.text)
      return reply.body.data.id
    }

    describe('no one grants more than they hold', () => {
      const refused = async (body: object, key: string) => {
        const reply = await service().call('POST', '/v1/keys', { body: { name: 'more', ...body }, key })
        assert.equal(reply.status, 403, reply.text)
        assert.equal(reply.body.error.code, 'forbidden')
      }

      test('permissions: only those of the granting key', async () => {
        const { secret } = await createKey(service(), { permissions: ['read', 'manage'] })
        await createKey(service(), { permissions: ['read'] }, secret)
        await createKey(service(), { permissions: ['manage', 'read'] }, secret)
        for (const grant of [{ permissions: ['write'] }, { permissions: ['read', 'delete'] }, { role: 'admin' }]) {
          await refused(grant, secret)
        }
      })

      test('scope: it has access only to its own agent, and learns nothing about others', async () => {
        const agent_id = await createAgent(service(), 'inside')
        await createAgent(service(), 'outside')
        const { secret } = await createKey(service(), { role: 'admin', agent_id })
        await createKey(service(), { role: 'admin', agent_id }, secret)
        for (const other of [null, undefined, 'outside', 'not-there', 'agt_00000000000000000000000000']) {
          await refused({ role: 'viewer', agent_id: other }, secret)
        }
      })

      test('tier: not a higher one', async () => {
        const { secret } = await createKey(service(), { role: 'admin', tier: 'pro' })
        await createKey(service(), { role: 'viewer', tier: 'free' }, secret)
        await createKey(service(), { role: 'viewer', tier: 'pro' }, secret)
        await refused({ role: 'viewer', tier: 'enterprise' }, secret)
      })

      test('tier: a key that makes one without a tier gives the default one, or its own where that is lower', async () => {
        const { secret } = await createKey(service(), { role: 'admin', tier: 'free' })
        const { tier } = (
          await service().call('POST', '/v1/keys', { key: secret, body: { name: 'x', role: 'viewer' } })
        ).body.data
        assert.equal(tier, 'free')
        const self = (await service().call('GET', '/v1/keys/self', { key: secret })).body.data
        assert.deepEqual(
          [self.tiers, self.default_tier],
          [[{ name: 'free', requests_per_minute: 60, burst: 100 }], 'free'],
        )
        const admin = (await service().call('GET', '/v1/keys/self')).body.data
        assert.equal(admin.default_tier, 'pro')
        assert.ok(admin.tiers.some(({ name }: { name: string }) => name === 'enterprise'))
      })

      test('tier: higher in one limit is higher, whatever the other limit', async () => {
        const { secret } = await createKey(service(), { role: 'admin', tier: 'pro' })
        for (const tier of ['spiky', 'steady']) {
          await refused({ role: 'viewer', tier }, secret)
        }
        const { id } = await createKey(service(), { role: 'viewer', tier: 'spiky' })
        const rotated = await service().call('POST', `/v1/keys/${id}/rotate`, { key: secret })
        assert.equal(rotated.status, 403, rotated.text)
      })

      test('expiry: not a later one', async () => {
        const at = (ms: number) => new Date(Date.now() + ms).toISOString()
        const expires_at = at(HOUR)
        const { secret } = await createKey(service(), { role: 'admin', expires_at })
        await createKey(service(), { role: 'viewer', expires_at }, secret)
        await createKey(service(), { role: 'viewer', expires_at: at(HOUR / 2) }, secret)
        for (const later of [null, undefined, at(2 * HOUR)]) {
          await refused({ role: 'viewer', expires_at: later }, secret)
        }
      })

      test('rotate: the secret of a key that may do more is not handed over', async () => {
        const { id } = await createKey(service(), { role: 'admin' })
        const { secret } = await createKey(service(), { permissions: ['manage'] })
        const { status, body } = await service().call('POST', `/v1/keys/${id}/rotate`, { key: secret })
        assert.equal(status, 403)
        assert.equal(body.error.code, 'forbidden')
      })
    })
  },
  {
    ...SAMPLE_SETTINGS,
    MOORAGE_LIMITS__TIERS: JSON.stringify({
      spiky: { requestsPerMinute: 60, burst: 5000 },
      steady: { requestsPerMinute: 5000, burst: 10 },
    }),
  },
)
