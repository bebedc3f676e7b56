import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { SAMPLE_SETTINGS } from '../support/clients/requests.ts'
import { NOWHERE } from '../support/outside/local-server.ts'
import { until } from '../support/running/until.ts'
import { onBothEngines } from '../support/service/service.ts'
import { createAgent, createKey, idsOf } from '../support/slices/resources.ts'
import { createWebhook, listDeliveries } from '../support/slices/webhooks.ts'

const INSIDE = '10.1.2.3'
const OUTSIDE = '192.0.2.1'
/** Of the audit log what was done: what is refused meanwhile is written down too. */
const LISTS = ['/v1/keys?', '/v1/webhooks?', '/v1/audit-log?outcome=success&']
const url = `${NOWHERE}/hook`

onBothEngines(
  'lists and an agent’s own security settings',
  (service) => {
    let vault: string
    let open: string
    const keys: Record<string, { id: string; secret: string }> = {}
    const hooks = { vault: '', open: '', everywhere: '' }

    const get = (path: string, address: string, key = service().admin) =>
      service().call('GET', path, { key, headers: { 'X-Forwarded-For': address } })
    const all = async (path: string, address: string, key?: string) => {
      const reply = await get(
        `${path}${/[?&]$/.test(path) ? '' : path.includes('?') ? '&' : '?'}limit=100`,
        address,
        key,
      )
      assert.equal(reply.status, 200, reply.text)
      assert.equal(reply.body.pagination.total, reply.body.data.length)
      return reply.body.data as Record<string, unknown>[]
    }

    before(async () => {
      vault = await createAgent(service(), 'vault')
      open = await createAgent(service(), 'open')
      for (const [name, agent_id] of [
        ['vault', vault],
        ['open', open],
        ['everywhere', null],
      ] as const) {
        keys[name] = await createKey(service(), { role: 'admin', agent_id })
        hooks[name] = (await createWebhook(service(), { url, agent_id, events: ['*'] })).id
      }
      for (const name of ['vault', 'open']) {
        await service().call('POST', `/v1/agents/${name}/invoke`, { body: { message: 'hi' } })
      }
      await until('both are on their way', async () => (await listDeliveries(service(), hooks.everywhere)).length === 2)
      const security = { ipWhitelist: { enabled: true, addresses: ['10.1.0.0/16'] } }
      const closed = await service().call('PATCH', '/v1/agents/vault', { body: { security } })
      assert.equal(closed.status, 200, closed.text)
    })

    describe('lists filtered by the restricted agent', () => {
      for (const path of LISTS) {
        test(`${path}: 403 from outside, by id and by name; 200 from inside`, async () => {
          for (const ref of [vault, ...(path.includes('audit') ? [] : ['vault'])]) {
            const refused = await get(`${path}agent_id=${ref}`, OUTSIDE)
            assert.equal(refused.status, 403, refused.text)
            assert.equal(refused.body.error.code, 'forbidden')
            assert.ok((await all(`${path}agent_id=${ref}`, INSIDE)).length > 0)
          }
          assert.ok((await all(`${path}agent_id=${open}`, OUTSIDE)).length > 0)
          assert.deepEqual(await all(`${path}agent_id=agt_00000000000000000000000000`, OUTSIDE), [])
        })
      }

      test('403 for a scoped key, whether or not the other agent exists', async () => {
        for (const ref of [vault, 'vault', 'nobody']) {
          const { status, body } = await get(`/v1/keys?agent_id=${ref}`, INSIDE, keys.open?.secret)
          assert.deepEqual([status, body.error.code], [403, 'forbidden'])
        }
      })
    })

    describe('lists without a filter', () => {
      test('agents: the restricted one is neither in the list nor in the total', async () => {
        const names = async (address: string) => (await all('/v1/agents', address)).map(({ name }) => name).toSorted()
        assert.deepEqual(await names(OUTSIDE), ['hello', 'open'])
        assert.deepEqual(await names(INSIDE), ['hello', 'open', 'vault'])
      })

      for (const path of LISTS) {
        test(`${path}: everything except entries of the restricted agent`, async () => {
          const inside = await all(path, INSIDE)
          assert.ok(inside.some(({ agent_id }) => agent_id === vault))
          assert.ok(inside.some(({ agent_id }) => agent_id === open))
          assert.ok(inside.some(({ agent_id }) => agent_id === null))
          const rest = inside.filter(({ agent_id }) => agent_id !== vault).map(({ id }) => id)
          const outside = (await all(path, OUTSIDE)).map(({ id }) => id)
          assert.deepEqual(outside, rest)
        })
      }

      test('pages neither repeat nor skip entries', async () => {
        const pages = []
        for (let offset = 0; ; offset++) {
          const reply = await get(`/v1/webhooks?limit=1&offset=${offset}`, OUTSIDE)
          pages.push(...idsOf(reply))
          if (!reply.body.pagination.has_more) break
        }
        assert.deepEqual(pages.toSorted(), [hooks.open, hooks.everywhere].toSorted())
      })

      test('a webhook for all agents: without deliveries of the restricted one', async () => {
        const path = `/v1/webhooks/${hooks.everywhere}/deliveries`
        assert.equal((await all(path, INSIDE)).length, 2)
        assert.equal((await all(path, OUTSIDE)).length, 1)
        assert.equal((await all(`${path}?event=agent.completed`, OUTSIDE)).length, 1)
      })

      test('a key limited to the restricted agent sees nothing from outside', async () => {
        for (const path of ['/v1/agents?', ...LISTS]) {
          assert.deepEqual(await all(path, OUTSIDE, keys.vault?.secret), [], path)
          assert.ok((await all(path, INSIDE, keys.vault?.secret)).length > 0, path)
        }
      })
    })

    test('a change of the settings takes effect immediately', async () => {
      const set = (addresses: string[]) =>
        service().call('PATCH', '/v1/agents/vault', {
          body: { security: { ipWhitelist: { enabled: true, addresses } } },
          headers: { 'X-Forwarded-For': INSIDE },
        })
      assert.equal((await set(['10.1.0.0/16', OUTSIDE])).status, 200)
      assert.equal((await all('/v1/agents', OUTSIDE)).length, 3)
      assert.equal((await set(['10.1.0.0/16'])).status, 200)
      assert.equal((await all('/v1/agents', OUTSIDE)).length, 2)
    })

    test('another client certificate, or plain HTTP, hides the agent, too', async () => {
      const security = { enforceHttps: true }
      await createAgent(service(), 'secure', { security })
      const secure = { 'X-Forwarded-For': OUTSIDE, 'X-Forwarded-Proto': 'https' }
      const names = async (headers: Record<string, string>) =>
        (await service().call('GET', '/v1/agents', { headers })).body.data.map(({ name }: { name: string }) => name)
      assert.ok(!(await names({ 'X-Forwarded-For': OUTSIDE })).includes('secure'))
      assert.ok((await names(secure)).includes('secure'))
    })
  },
  { ...SAMPLE_SETTINGS, MOORAGE_SERVER__TRUSTED_PROXIES: '127.0.0.0/8,::1' },
)
