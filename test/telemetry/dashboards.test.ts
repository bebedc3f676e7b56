import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { NOWHERE } from '../support/outside/local-server.ts'
import { onAnyEngine, type Reply } from '../support/service/service.ts'
import { createAgent, createKey, idsOf, later } from '../support/slices/resources.ts'

const HOUR = 3_600_000
const PASSWORD = 'a-secret-of-the-operator'

onAnyEngine(
  'what dashboards request',
  (service) => {
    let busy: string
    let idle: string
    let guarded: string
    /** The requests of all agents, the newest first. */
    const sent: string[] = []
    const invoke = async (agent: string, body: object, wanted = 200): Promise<Reply> => {
      const reply = await service().call('POST', `/v1/agents/${agent}/invoke`, { body: { message: 'hi', ...body } })
      assert.equal(reply.status, wanted, reply.text)
      return reply
    }
    const requestIdOf = ({ body }: Reply) => (body.data ?? body).request_id as string
    before(async () => {
      busy = await createAgent(service(), 'busy')
      const remote = { url: 'https://agent.example.com', secret: 'AGENT' }
      idle = await createAgent(service(), 'idle', { kind: 'remote', remote })
      guarded = await createAgent(service(), 'guarded', {
        security: { ipWhitelist: { enabled: true, addresses: ['203.0.113.1'] } },
      })
      const failing = await createAgent(service(), 'failing', {
        model: 'builtin/script',
        script: { rules: [{ fail: 'no coal left' }] },
      })
      const body = { environment: 'production', version: 'v1' }
      await service().call('POST', `/v1/agents/${busy}/deployments`, { body })
      for (const user_id of ['ada', 'bob', 'ada']) {
        sent.unshift(requestIdOf(await invoke(busy, { context: { user_id, session_id: `s-${user_id}` } })))
      }
      sent.unshift(requestIdOf(await invoke(failing, { context: { user_id: 'ada' } }, 500)))
    })

    describe('GET /v1/overview', () => {
      const overview = async (options = {}) =>
        (await service().call('GET', '/v1/overview?sort=name', options)).body.data

      test('contains each agent with its deployed version and its last day', async () => {
        const found = await overview()
        assert.deepEqual(
          found.map(({ name }: { name: string }) => name),
          ['busy', 'failing', 'hello', 'idle'],
        )
        const [first, failing, , last] = found
        const { created_at: _, p95_ms, hours, ...rest } = first
        const served = { kind: 'model', version: 'v1' }
        assert.deepEqual(rest, { id: busy, name: 'busy', status: 'running', ...served, requests: 3, errors: 0 })
        assert.ok(p95_ms >= 0 && p95_ms < 10_000)
        assert.equal(hours.length, 24)
        assert.equal(hours.at(-1) + hours.at(-2), 3)
        assert.deepEqual([failing.requests, failing.errors], [1, 1])
        assert.deepEqual([last.requests, last.errors, last.p95_ms, last.version], [0, 0, null, null])
        assert.equal(last.kind, 'remote')
        assert.deepEqual(
          last.hours,
          Array.from({ length: 24 }, () => 0),
        )
      })

      test('?failing=true lists the agents for which one in ten invocations failed', async () => {
        const failing = async () => {
          const { body } = await service().call('GET', '/v1/overview?failing=true&limit=1')
          return [body.data.map(({ name }: { name: string }) => name), body.pagination.total]
        }
        assert.deepEqual(await failing(), [['failing'], 1])
        assert.deepEqual(await later(service(), 25 * HOUR, () => failing()), [[], 0])
      })

      test('contains only the last day, in hours that move along', async () => {
        const [next] = await later(service(), 3 * HOUR, () => overview())
        assert.equal(next.requests, 3)
        assert.equal(next.hours.at(-4) + next.hours.at(-5), 3)
        const [gone] = await later(service(), 25 * HOUR, () => overview())
        assert.deepEqual([gone.requests, gone.p95_ms], [0, null])
      })

      test('contains only one agent for a key limited to it', async () => {
        const { secret: key } = await createKey(service(), { role: 'viewer', agent_id: idle })
        assert.deepEqual(
          (await overview({ key })).map(({ id }: { id: string }) => id),
          [idle],
        )
      })
    })

    describe('GET /v1/invocations', () => {
      const list = async (query = '', options = {}) => service().call('GET', `/v1/invocations?${query}`, options)
      const idsIn = ({ body }: Reply) => body.data.map(({ request_id }: { request_id: string }) => request_id)

      test('lists those of all agents, newest first, in pages', async () => {
        const all = await list()
        assert.deepEqual(idsIn(all), sent)
        assert.deepEqual(all.body.pagination, { limit: 10, offset: 0, total: 4, has_more: false })
        assert.deepEqual(idsIn(await list('sort=created_at')), sent.toReversed())
        const middle = await list('limit=2&offset=1')
        assert.deepEqual(idsIn(middle), sent.slice(1, 3))
        assert.deepEqual(middle.body.pagination, { limit: 2, offset: 1, total: 4, has_more: true })
      })

      test("returns the same receipts as the agent's own list", async () => {
        const [, one] = (await list()).body.data
        const alone = await service().call('GET', `/v1/agents/${busy}/invocations/${sent[1]}`)
        assert.deepEqual(one, alone.body.data)
      })

      test('filters by agent, status, user and session, also combined', async () => {
        const [failed, third, second, first] = sent
        const cases: Record<string, (string | undefined)[]> = {
          'agent_id=busy': [third, second, first],
          [`agent_id=${idle}`]: [],
          'status=failed': [failed],
          'status=completed': [third, second, first],
          'status=queued': [],
          'user_id=ada': [failed, third, first],
          'user_id=ada&status=completed': [third, first],
          'user_id=ada&agent_id=busy': [third, first],
          'session_id=s-ada': [third, first],
          'session_id=s-ada&user_id=bob': [],
          'user_id=nobody': [],
          [`request_id=${second}`]: [second],
          [`request_id=${second}&status=failed`]: [],
          [`request_id=${second}&agent_id=${idle}`]: [],
          'request_id=req_unknown': [],
        }
        for (const [query, expected] of Object.entries(cases)) {
          const reply = await list(query)
          assert.deepEqual(idsIn(reply), expected, query)
          assert.equal(reply.body.pagination.total, expected.length, query)
        }
      })

      test('lists only what the key has access to, without agents whose security settings refuse the request', async () => {
        const { secret: key } = await createKey(service(), { role: 'viewer', agent_id: busy })
        assert.deepEqual(idsIn(await list('', { key })), sent.slice(1))
        assert.equal((await list(`agent_id=${idle}`, { key })).status, 403)
        assert.equal((await list(`agent_id=${guarded}`)).status, 403)
      })

      test('no longer lists those of a deleted agent', async () => {
        const gone = await createAgent(service(), 'gone')
        await invoke(gone, {})
        assert.equal((await list()).body.pagination.total, 5)
        await service().call('DELETE', `/v1/agents/${gone}`)
        const reply = await list()
        assert.deepEqual(idsIn(reply), sent)
        assert.equal(reply.body.pagination.total, 4)
      })
    })

    describe('GET …/invocations/{request_id}/effects', () => {
      const effectsOf = async (agent: string, request_id: string | undefined, options = {}) =>
        (await service().call('GET', `/v1/agents/${agent}/invocations/${request_id}/effects`, options)).body.data

      test('the memories that the request wrote, and no others', async () => {
        const { memories, deliveries } = await effectsOf(busy, sent[1])
        const told = memories.map(({ role, content, user_id, session_id }: Record<string, string>) => [
          role,
          content,
          user_id,
          session_id,
        ])
        assert.deepEqual(told, [
          ['user', 'hi', 'ada', 's-ada'],
          ['assistant', 'hi', 'ada', 's-ada'],
        ])
        assert.deepEqual(deliveries, [])
      })

      test('the deliveries that it caused; of webhooks of the whole service only for keys of the whole service', async () => {
        const hooks = await Promise.all(
          [busy, null].map((agent_id) =>
            service().call('POST', '/v1/webhooks', {
              body: { agent_id, url: `${NOWHERE}/hook`, events: ['agent.completed'] },
            }),
          ),
        )
        const [ofAgent, ofAll] = hooks.map(({ body }) => body.data.id)
        const request_id = requestIdOf(await invoke(busy, {}))
        sent.unshift(request_id)
        const { memories, deliveries } = await effectsOf(busy, request_id)
        assert.deepEqual(memories, [])
        assert.deepEqual(
          new Set(deliveries.map((one: { webhook_id: string }) => one.webhook_id)),
          new Set([ofAgent, ofAll]),
        )
        const delivery = await service().call('GET', `/v1/webhooks/${ofAgent}/deliveries`)
        assert.ok(
          idsOf(delivery).includes(deliveries.find((one: { webhook_id: string }) => one.webhook_id === ofAgent).id),
        )
        const { secret: key } = await createKey(service(), { role: 'viewer', agent_id: busy })
        const scoped = await effectsOf(busy, request_id, { key })
        assert.deepEqual(
          scoped.deliveries.map((one: { webhook_id: string }) => one.webhook_id),
          [ofAgent],
        )
        for (const id of [ofAgent, ofAll]) await service().call('DELETE', `/v1/webhooks/${id}`)
      })

      test('404 for an invocation of another agent', async () => {
        const { status } = await service().call('GET', `/v1/agents/${idle}/invocations/${sent[0]}/effects`)
        assert.equal(status, 404)
      })
    })

    describe('GET …/deployments/{deployment_id}/diff', () => {
      test('compares with the previous deployment, another one, and the draft', async () => {
        const agent = await createAgent(service(), 'changing', { instructions: 'Be brief.' })
        const deploy = async (version: string): Promise<string> => {
          const body = { environment: 'production', version }
          return (await service().call('POST', `/v1/agents/${agent}/deployments`, { body })).body.data.id
        }
        const change = (body: object) => service().call('PATCH', `/v1/agents/${agent}`, { body })
        const diff = async (id: string, query = '') =>
          (await service().call('GET', `/v1/agents/${agent}/deployments/${id}/diff${query}`)).body.data
        const first = await deploy('v1')
        await change({ instructions: 'Be long.' })
        const second = await deploy('v2')
        await change({ temperature: 1 })
        const third = await deploy('v3')
        await change({ temperature: 2 })

        assert.deepEqual(await diff(second), {
          from: { deployment_id: first, version: 'v1' },
          to: { deployment_id: second, version: 'v2' },
          diff: [{ field: 'instructions', from: 'Be brief.', to: 'Be long.' }],
        })
        const whole = await diff(third, `?from=${first}`)
        assert.deepEqual(whole.diff.map(({ field }: { field: string }) => field).toSorted(), [
          'instructions',
          'temperature',
        ])
        const now = await diff(third, '?from=working_copy')
        assert.deepEqual(now.from, { deployment_id: null, version: null })
        assert.deepEqual(now.diff, [{ field: 'temperature', from: 2, to: 1 }])
        const begun = await diff(first)
        assert.deepEqual(begun.from, { deployment_id: null, version: null })
        assert.ok(begun.diff.some(({ field }: { field: string }) => field === 'instructions'))
        const wrong = await service().call('GET', `/v1/agents/${agent}/deployments/${first}/diff?from=dep_none`)
        assert.equal(wrong.status, 404)
      })
    })

    describe('GET /v1/system', () => {
      test('contains what is running, how much is stored, and the configuration without secrets', async () => {
        const { body, text } = await service().call('GET', '/v1/system')
        const { version, engine, queues, storage, settings } = body.data
        assert.match(version, /^\d+\.\d+\.\d+/)
        assert.equal(engine, service().engine)
        assert.deepEqual(
          queues.map(({ queue }: { queue: string }) => queue),
          ['runs', 'deliveries', 'jobs'],
        )
        assert.ok(storage.bytes > 100_000)
        const { invocations, memories, agents } = storage.rows
        assert.ok(invocations >= sent.length && memories === 6 && agents >= 5, text)
        assert.equal(storage.days.length, 30)
        assert.equal(storage.days.at(-1).day, new Date(service().now()).toISOString().slice(0, 10))
        assert.ok(storage.days.at(-1).invocations + storage.days.at(-2).invocations === invocations)
        const valueOf = (name: string) => settings.find(({ setting }: { setting: string }) => setting === name)?.value
        assert.equal(valueOf('console.enabled'), true)
        assert.equal(valueOf('secrets.CRM.value'), '(set)')
        assert.equal(valueOf('initKey'), '(set)')
        for (const hidden of [PASSWORD, service().admin]) assert.ok(!text.includes(hidden))
        if (engine === 'postgres') assert.equal(valueOf('database.url'), '(set)')
      })

      test('403 for a key limited to one agent', async () => {
        const { secret: key } = await createKey(service(), { role: 'admin', agent_id: busy })
        assert.equal((await service().call('GET', '/v1/system', { key })).status, 403)
      })
    })
  },
  {
    MOORAGE_SECRETS: JSON.stringify({ CRM: { value: PASSWORD, hosts: ['crm.example.com'] } }),
    MOORAGE_OUTGOING__ALLOW_INSECURE: 'true',
    MOORAGE_OUTGOING__ALLOWED_CIDRS: '127.0.0.1/32',
  },
)
