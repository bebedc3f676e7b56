import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { fieldsOf } from '../support/clients/refusal.ts'
import { onAnyEngine, type Service } from '../support/service/service.ts'
import { createAgent, createWebhook, LOCAL_RECEIVERS, openInbox, uniqueName } from '../support/slices/webhooks.ts'
import { everythingStored } from '../support/stores/stored.ts'

const URL = 'https://hooks.example.com/in'

async function createKey(service: Service, fields: Record<string, unknown>): Promise<string> {
  const { status, body, text } = await service.call('POST', '/v1/keys', { body: { name: 'k', ...fields } })
  assert.equal(status, 201, text)
  return body.data.secret
}

onAnyEngine('webhooks', (service) => {
  describe('POST /v1/webhooks', () => {
    test('201 with every field, the secret, and where to find it', async () => {
      const agent_id = await createAgent(service())
      const { status, headers, body } = await service().call('POST', '/v1/webhooks', {
        body: { agent_id, url: URL, events: ['agent.completed', 'agent.failed'] },
      })
      assert.equal(status, 201)
      const { id, secret, secret_hint, created_at, updated_at, ...rest } = body.data
      assert.match(id, /^whk_[0-9A-Z]{26}$/)
      assert.equal(headers.get('location'), `/v1/webhooks/${id}`)
      assert.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/)
      assert.equal(secret_hint, `whsec_…${secret.slice(-5)}`)
      assert.equal(created_at, updated_at)
      assert.deepEqual(rest, {
        created_by: (await service().call('GET', '/v1/keys/self')).body.data.id,
        agent_id,
        url: URL,
        events: ['agent.completed', 'agent.failed'],
        status: 'enabled',
        disabled_reason: null,
        description: null,
        previous_secret_expires_at: null,
        failing_since: null,
      })
    })

    test("takes an agent's name and answers its id; without an agent it is for all", async () => {
      const name = uniqueName()
      const agent = await service().call('POST', '/v1/agents', { body: { name } })
      const named = await service().call('POST', '/v1/webhooks', { body: { agent_id: name, url: URL, events: ['*'] } })
      assert.equal(named.body.data.agent_id, agent.body.data.id)
      const all = await service().call('POST', '/v1/webhooks', { body: { url: URL, events: ['ping'] } })
      assert.equal(all.body.data.agent_id, null)
    })

    test('400 names what is wrong', async () => {
      const wrong: [string, Record<string, unknown>][] = [
        ['agent_id', { agent_id: 'nobody' }],
        ['agent_id', { agent_id: '' }],
        ['url', { url: 'not a url' }],
        ['url', { url: null }],
        ['events', { events: [] }],
        ['events', { events: ['agent.completed', 'agent.completed'] }],
        ['events.0', { events: ['agent.exploded'] }],
        ['events', { events: 'agent.completed' }],
        ['secret', { secret: 'whsec_mine' }],
        ['status', { status: 'disabled' }],
        ['description', { description: 'x'.repeat(501) }],
      ]
      for (const [field, fields] of wrong) {
        const { status, body, text } = await service().call('POST', '/v1/webhooks', {
          body: { url: URL, events: ['agent.completed'], ...fields },
        })
        assert.equal(status, 400, text)
        assert.equal(body.error.code, 'invalid_request')
        assert.deepEqual(fieldsOf(body), [field], text)
      }
      const empty = await service().call('POST', '/v1/webhooks', { body: {} })
      assert.deepEqual(fieldsOf(empty.body), ['url', 'events'])
    })

    test('400 on url for every address that is not public https', async () => {
      const refused = [
        'http://hooks.example.com/',
        'ftp://hooks.example.com/',
        'file:///etc/passwd',
        'javascript:alert(1)',
        'https://user:password@hooks.example.com/',
        'https://hooks.example.com/#part',
        'https://hooks.example.com:22/',
        `https://hooks.example.com/${'x'.repeat(2049 - 26)}`,
        'https://2130706433/',
        'https://0x7f.1/',
        'https://0177.0.0.1/',
        'https://127.1/',
        'https://127.0.0.1./',
        'https://１２７.０.０.１/',
        'https://localhost/',
        'https://localhost./',
        'https://[::1]/',
        'https://[::ffff:7f00:1]/',
        'https://[::127.0.0.1]/',
        'https://[64:ff9b::7f00:1]/',
        'https://[fd00:ec2::254]/',
        'https://169.254.169.254/latest/meta-data',
        'https://100.64.0.1/',
        'https://10.0.0.1/',
        'https://0.0.0.0/',
      ]
      for (const url of refused) {
        const { status, body, text } = await service().call('POST', '/v1/webhooks', { body: { url, events: ['*'] } })
        assert.equal(status, 400, `${url}: ${text}`)
        assert.deepEqual(fieldsOf(body), ['url'])
      }
      const { id } = await createWebhook(service(), { url: URL })
      const update = await service().call('PATCH', `/v1/webhooks/${id}`, { body: { url: 'https://127.0.0.1/' } })
      assert.equal(update.status, 400)
      assert.deepEqual(fieldsOf(update.body), ['url'])
      const plain = await service().call('PATCH', `/v1/webhooks/${id}`, { body: { url: 'http://hooks.example.com/' } })
      assert.equal(
        plain.body.error.details[0].error,
        'must use https (the operator can allow http with outgoing.allowInsecure)',
      )
    })

    test('the same Idempotency-Key answers the same secret and makes one webhook', async () => {
      const agent_id = await createAgent(service())
      const request = { body: { agent_id, url: URL, events: ['*'] }, headers: { 'Idempotency-Key': uniqueName() } }
      const first = await service().call('POST', '/v1/webhooks', request)
      const again = await service().call('POST', '/v1/webhooks', request)
      assert.equal(again.headers.get('idempotent-replayed'), 'true')
      assert.equal(again.text, first.text)
      const list = await service().call('GET', `/v1/webhooks?agent_id=${agent_id}`)
      assert.equal(list.body.pagination.total, 1)
    })
  })

  describe('GET /v1/webhooks', () => {
    test('pages, sorts and filters; never shows a secret', async () => {
      const agent_id = await createAgent(service())
      const made = [
        await createWebhook(service(), { agent_id, url: `${URL}/a`, events: ['agent.failed'] }),
        await createWebhook(service(), { agent_id, url: `${URL}/b`, events: ['*'] }),
        await createWebhook(service(), { agent_id, url: `${URL}/c`, events: ['agent.completed'] }),
      ]
      const [a, b, c] = made.map(({ id }) => id)
      await service().call('PATCH', `/v1/webhooks/${c}`, { body: { status: 'disabled' } })
      const ids = async (query: string) => {
        const { status, body, text } = await service().call('GET', `/v1/webhooks?agent_id=${agent_id}${query}`)
        assert.equal(status, 200, text)
        assert.doesNotMatch(text, /whsec_[A-Za-z0-9+/]/)
        return body.data.map((webhook: { id: string }) => webhook.id)
      }
      assert.deepEqual(await ids('&sort=url'), [a, b, c])
      assert.deepEqual(await ids('&sort=-url&limit=2'), [c, b])
      assert.deepEqual(await ids('&sort=url&event=agent.failed'), [a, b])
      assert.deepEqual(await ids('&status=disabled'), [c])
      assert.deepEqual(await ids('&sort=url&status=enabled'), [a, b])
      assert.deepEqual((await service().call('GET', '/v1/webhooks?agent_id=nobody')).body.data, [], 'not those of all')
      for (const query of ['event=%25', 'event=nothing', 'status=on', 'sort=secret', 'limit=0', 'colour=red']) {
        assert.equal((await service().call('GET', `/v1/webhooks?${query}`)).status, 400, query)
      }
    })

    test('404 for one that does not exist', async () => {
      for (const [method, path] of [
        ['GET', ''],
        ['PATCH', ''],
        ['DELETE', ''],
        ['POST', '/rotate-secret'],
        ['POST', '/test'],
        ['GET', '/deliveries'],
        ['GET', '/deliveries/dlv_1'],
        ['POST', '/deliveries/dlv_1/redeliver'],
      ] as const) {
        const body = method === 'PATCH' ? { description: 'x' } : undefined
        const reply = await service().call(method, `/v1/webhooks/whk_none${path}`, { body })
        assert.equal(reply.status, 404, `${method} ${path}: ${reply.text}`)
        assert.equal(reply.body.error.code, 'not_found')
      }
    })
  })

  describe('PATCH /v1/webhooks/{webhook_id}', () => {
    test('changes what it names', async () => {
      const { id } = await createWebhook(service(), { url: URL })
      const change = { url: `${URL}/2`, events: ['agent.failed'], description: 'second', status: 'disabled' }
      const { body } = await service().call('PATCH', `/v1/webhooks/${id}`, { body: change })
      const { id: _id, secret_hint: _hint, created_by: _by, created_at, updated_at, ...rest } = body.data
      assert.ok(updated_at >= created_at)
      const expected = {
        ...change,
        agent_id: null,
        disabled_reason: 'requested',
        previous_secret_expires_at: null,
        failing_since: null,
      }
      assert.deepEqual(rest, expected)
      const enabled = await service().call('PATCH', `/v1/webhooks/${id}`, { body: { status: 'enabled' } })
      assert.equal(enabled.body.data.disabled_reason, null)
      assert.deepEqual((await service().call('GET', `/v1/webhooks/${id}`)).body, enabled.body)
    })

    test('400 for nothing, for unknown fields, and for another agent', async () => {
      const { id } = await createWebhook(service(), { url: URL })
      for (const body of [{}, { agent_id: 'x' }, { id: 'whk_2' }, { secret: 'whsec_' }, { status: 'paused' }]) {
        assert.equal((await service().call('PATCH', `/v1/webhooks/${id}`, { body })).status, 400, JSON.stringify(body))
      }
    })
  })

  describe('DELETE', () => {
    test('a webhook, once', async () => {
      const { id } = await createWebhook(service(), { url: URL })
      const gone = await service().call('DELETE', `/v1/webhooks/${id}`)
      assert.deepEqual([gone.status, gone.body], [200, { success: true, data: { id, deleted: true } }])
      assert.equal((await service().call('DELETE', `/v1/webhooks/${id}`)).status, 404)
    })

    test('deleting an agent deletes its webhooks', async () => {
      const agent_id = await createAgent(service())
      const { id } = await createWebhook(service(), { agent_id, url: URL })
      await service().call('DELETE', `/v1/agents/${agent_id}`)
      assert.equal((await service().call('GET', `/v1/webhooks/${id}`)).status, 404)
    })
  })

  describe('permission and scope', () => {
    test('403 without the permission', async () => {
      const { id } = await createWebhook(service(), { url: URL })
      const viewer = await createKey(service(), { role: 'viewer' })
      const writer = await createKey(service(), { permissions: ['write'] })
      const ask = async (key: string, method: string, path: string, body?: unknown) =>
        (await service().call(method, path, { key, body })).status
      assert.equal(await ask(viewer, 'GET', '/v1/webhooks'), 200)
      assert.equal(await ask(viewer, 'GET', `/v1/webhooks/${id}`), 200)
      assert.equal(await ask(viewer, 'GET', `/v1/webhooks/${id}/deliveries`), 200)
      assert.equal(await ask(viewer, 'POST', '/v1/webhooks', { url: URL, events: ['*'] }), 403)
      assert.equal(await ask(viewer, 'PATCH', `/v1/webhooks/${id}`, { description: 'x' }), 403)
      assert.equal(await ask(viewer, 'DELETE', `/v1/webhooks/${id}`), 403)
      for (const path of ['test', 'rotate-secret', 'deliveries/dlv_1/redeliver']) {
        assert.equal(await ask(viewer, 'POST', `/v1/webhooks/${id}/${path}`), 403, path)
      }
      assert.equal(await ask(writer, 'GET', `/v1/webhooks/${id}`), 403)
      assert.equal(await ask(writer, 'DELETE', `/v1/webhooks/${id}`), 403)
    })

    test("a scoped key sees its agent's webhooks only; others look the same whether or not they exist", async () => {
      const [own, other] = [await createAgent(service()), await createAgent(service())]
      const mine = await createWebhook(service(), { agent_id: own, url: URL })
      const theirs = await createWebhook(service(), { agent_id: other, url: URL })
      const everybodys = await createWebhook(service(), { url: URL })
      const key = await createKey(service(), { agent_id: own, role: 'admin' })
      const call = (method: string, path: string, body?: unknown) => service().call(method, path, { key, body })

      const list = await call('GET', '/v1/webhooks')
      assert.deepEqual(
        list.body.data.map(({ id }: { id: string }) => id),
        [mine.id],
      )
      assert.equal((await call('GET', `/v1/webhooks/${mine.id}`)).status, 200)
      assert.equal((await call('GET', `/v1/webhooks?agent_id=${other}`)).status, 403)

      const refusals = new Set<string>()
      for (const id of [theirs.id, everybodys.id, 'whk_none']) {
        for (const [method, path, body] of [
          ['GET', ''],
          ['PATCH', '', { description: 'x' }],
          ['DELETE', ''],
          ['POST', '/rotate-secret'],
          ['POST', '/test'],
          ['GET', '/deliveries'],
          ['GET', '/deliveries/dlv_1'],
          ['POST', '/deliveries/dlv_1/redeliver'],
        ] as const) {
          const reply = await call(method, `/v1/webhooks/${id}${path}`, body)
          assert.equal(reply.status, 403, `${method} ${path}: ${reply.text}`)
          refusals.add(JSON.stringify(reply.body.error))
        }
      }
      for (const agent_id of [other, 'nobody', null, undefined]) {
        const reply = await call('POST', '/v1/webhooks', { agent_id, url: URL, events: ['*'] })
        assert.equal(reply.status, 403, `${agent_id}: ${reply.text}`)
        refusals.add(JSON.stringify(reply.body.error))
      }
      assert.equal(refusals.size, 1)
      assert.equal((await call('POST', '/v1/webhooks', { agent_id: own, url: URL, events: ['*'] })).status, 201)
    })
  })

  test('no secret is on disk or in the log: after create, rotation and replay', async () => {
    const headers = { 'Idempotency-Key': uniqueName() }
    const made = await service().call('POST', '/v1/webhooks', { headers, body: { url: URL, events: ['*'] } })
    await service().call('POST', '/v1/webhooks', { headers, body: { url: URL, events: ['*'] } })
    const rotated = await service().call('POST', `/v1/webhooks/${made.body.data.id}/rotate-secret`, { body: {} })
    const secrets = [made.body.data.secret, rotated.body.data.secret].map((secret) => secret.slice('whsec_'.length))
    assert.notEqual(secrets[0], secrets[1])
    const stored = (await everythingStored(service())) + service().log()
    assert.ok(stored.includes(made.body.data.id), 'what was stored has been read')
    for (const secret of secrets) {
      assert.ok(!stored.includes(secret))
      assert.ok(!stored.includes(Buffer.from(secret, 'base64').toString('latin1')))
    }
  })
})

onAnyEngine(
  'webhooks',
  (service) => {
    describe('POST /v1/webhooks/{webhook_id}/test', () => {
      test('sends a signed ping and says how it went, leaving no delivery', async (t) => {
        const inbox = await openInbox(t)
        const { id } = await createWebhook(service(), { url: inbox.url })
        const { status, body } = await service().call('POST', `/v1/webhooks/${id}/test`)
        const [arrival] = await inbox.first(1)
        const { duration_ms, ...rest } = body.data
        assert.equal(status, 200)
        assert.ok(duration_ms >= 0)
        const sent = JSON.parse(arrival?.body ?? '')
        assert.deepEqual(rest, { event_id: sent.id, delivered: true, response_status: 200, error: null })
        assert.deepEqual([sent.type, sent.agent_id, sent.data], ['ping', null, { webhook_id: id }])
        assert.equal(arrival?.headers['x-service-event'], 'ping')
        assert.equal((await service().call('GET', `/v1/webhooks/${id}/deliveries`)).body.pagination.total, 0)
      })

      test('also to a disabled webhook; a failure is a result, not an error', async (t) => {
        const inbox = await openInbox(t, (_arrival, _request, response) => response.writeHead(503).end())
        const { id } = await createWebhook(service(), { url: inbox.url })
        await service().call('PATCH', `/v1/webhooks/${id}`, { body: { status: 'disabled' } })
        const { status, body } = await service().call('POST', `/v1/webhooks/${id}/test`, { body: undefined })
        const { duration_ms: _duration, event_id: _event, ...rest } = body.data
        assert.equal(status, 200)
        assert.deepEqual(rest, { delivered: false, response_status: 503, error: 'http_error' })
        const { body: after } = await service().call('GET', `/v1/webhooks/${id}`)
        assert.equal(after.data.failing_since, null)
      })
    })
  },
  LOCAL_RECEIVERS,
)

onAnyEngine(
  'the number of webhooks',
  (service) => {
    test('409 beyond webhooks.maxPerAgent, even for simultaneous requests', async () => {
      const agent_id = await createAgent(service())
      for (const scope of [{ agent_id }, {}]) {
        const create = () => service().call('POST', '/v1/webhooks', { body: { ...scope, url: URL, events: ['*'] } })
        const replies = await Promise.all(Array.from({ length: 8 }, create))
        const refused = replies.filter(({ status }) => status !== 201)
        assert.equal(refused.length, 5)
        for (const { status, body } of refused) {
          assert.equal(status, 409)
          assert.match(body.error.message, /3 webhooks, the limit set by webhooks\.maxPerAgent/)
        }
        const made = replies.find(({ status }) => status === 201)?.body
        await service().call('DELETE', `/v1/webhooks/${made.data.id}`)
        assert.equal((await create()).status, 201)
        await createWebhook(service(), { agent_id: await createAgent(service()), url: URL })
      }
    })
  },
  { MOORAGE_WEBHOOKS__MAX_PER_AGENT: '3' },
)
