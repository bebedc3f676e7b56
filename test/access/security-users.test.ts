import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { operationsForKeys, pathOf, sampleBody } from '../support/clients/requests.ts'
import { JWT_SETTINGS, signJwt } from '../support/outside/tokens.ts'
import { until } from '../support/running/until.ts'
import { onAnyEngine } from '../support/service/service.ts'
import { createKey, idsOf } from '../support/slices/resources.ts'
import { createWebhook, listDeliveries } from '../support/slices/webhooks.ts'

/** Operations limited to one user or concerning none, or changing an existing agent. Any other new operation is refused. */
const FOR_USER_TOKENS = [
  'invokeAgent',
  'listInvocations',
  'listAllInvocations',
  'getInvocation',
  'streamInvocation',
  'cancelInvocation',
  'listApprovals',
  'getApproval',
  'decideApproval',
  'eraseInvocation',
  'giveFeedback',
  'getFeedback',
  'deleteFeedback',
  'listFeedback',
  'createConnectionLink',
  'confirmConnectionLink',
  'listGrants',
  'revokeGrant',
  'createCallback',
  'createFile',
  'deleteFile',
  'getFile',
  'getFileContent',
  'listFiles',
  'listCallbacks',
  'getCallback',
  'deleteCallback',
  'listAgents',
  'listOverview',
  'listInvocable',
  'getAgent',
  'updateAgent',
  'deleteAgent',
  'listDeployments',
  'getDeployment',
  'diffDeployment',
  'getMetrics',
  'getPerformance',
  'searchMemory',
  'writeMemory',
  'clearMemory',
  'listMemory',
  'getMemory',
  'updateMemory',
  'deleteMemory',
  'listUsers',
  'listSessions',
  'getSummary',
  'replaceSummary',
  'deleteSummary',
  'getSelf',
]

const OTHER_USER = [403, 'forbidden']

onAnyEngine(
  'a JWT for one user',
  (service) => {
    let ada: string
    let bob: string
    const runs: Record<string, string> = {}
    const call = async (key: string, method: string, path: string, body?: unknown) => {
      const reply = await service().call(method, `/v1/agents/hello${path}`, { key, body })
      const { error } = reply.body ?? {}
      return error ? [reply.status, error.code] : reply.body
    }
    const contents = (reply: { data: { content: string }[] }) => reply.data.map(({ content }) => content).toSorted()

    before(async () => {
      const permissions = ['read', 'write', 'delete']
      ada = await signJwt({ user_id: 'ada', permissions })
      bob = await signJwt({ user_id: 'bob', permissions })
      for (const [user, key] of Object.entries({ ada, bob })) {
        const { data } = await call(key, 'POST', '/invoke', {
          message: `I am ${user}, remember`,
          context: { lang: 'en' },
        })
        runs[user] = data.request_id
      }
      // A conversation is in memory at most a moment after its reply.
      await until('both are remembered', async () => {
        const { pagination } = await call(service().admin, 'POST', '/memory/search', { query: 'remember' })
        return pagination.total >= 2
      })
    })

    test("an invocation belongs to the token's user, named or not; another user is 403", async () => {
      const receipt = await call(service().admin, 'GET', `/invocations/${runs.ada}`)
      assert.deepEqual(receipt.data.context, { lang: 'en', user_id: 'ada' })
      const invoke = (user_id: string) => call(ada, 'POST', '/invoke', { message: 'hi', context: { user_id } })
      assert.equal((await invoke('ada')).success, true)
      assert.deepEqual(await invoke('bob'), OTHER_USER)
    })

    test("two users of the same subject don't share stored replies", async () => {
      const say = async (user_id: string) => {
        const key = await signJwt({ user_id, sub: 'the-app', permissions: ['read', 'write'] })
        const { body, headers } = await service().call('POST', '/v1/agents/hello/invoke', {
          key,
          body: { message: 'once' },
          headers: { 'Idempotency-Key': 'same' },
        })
        return [body.data.request_id, headers.get('idempotent-replayed')]
      }
      const first = await say('dan')
      assert.deepEqual(await say('dan'), [first[0], 'true'])
      const other = await say('eve')
      assert.notEqual(other[0], first[0])
      assert.equal(other[1], null)
    })

    test('nor do users whose subject and user ID look the same when joined', async () => {
      const say = async (sub: string, user_id: string) => {
        const key = await signJwt({ sub, user_id, permissions: ['write'] })
        const reply = await service().call('POST', '/v1/agents/hello/invoke', {
          key,
          body: { message: 'once' },
          headers: { 'Idempotency-Key': 'alike' },
        })
        assert.equal(reply.status, 200, reply.text)
        return reply.headers.get('idempotent-replayed')
      }
      for (const separator of [' ', ':', '/', '#', ',', '","', '\\', '%20']) {
        assert.equal(await say(`app${separator}x`, 'y'), null, separator)
        assert.equal(await say('app', `x${separator}y`), null, separator)
        assert.equal(await say('app', `x${separator}y`), 'true', separator)
      }
    })

    test('receipts of other users are not found: get, list, stream, cancel', async () => {
      const { data } = await call(bob, 'GET', '/invocations')
      assert.deepEqual(
        data.map(({ request_id }: { request_id: string }) => request_id),
        [runs.bob],
      )
      assert.deepEqual(await call(bob, 'GET', '/invocations?user_id=ada'), OTHER_USER)
      assert.equal((await call(bob, 'GET', `/invocations/${runs.bob}`)).success, true)
      const missing = [404, 'not_found']
      assert.deepEqual(await call(bob, 'GET', `/invocations/${runs.ada}`), missing)
      assert.deepEqual(await call(bob, 'GET', `/invocations/${runs.ada}/stream`), missing)
      assert.deepEqual(await call(bob, 'POST', `/invocations/${runs.ada}/cancel`), missing)
    })

    test('nor are receipts without a user', async () => {
      const { data } = await call(service().admin, 'POST', '/invoke', { message: 'for no user' })
      const missing = [404, 'not_found']
      assert.deepEqual(await call(bob, 'GET', `/invocations/${data.request_id}`), missing)
      assert.deepEqual(await call(bob, 'GET', `/invocations/${data.request_id}/stream`), missing)
      assert.deepEqual(await call(bob, 'POST', `/invocations/${data.request_id}/cancel`), missing)
    })

    describe('performance, metrics and overview', () => {
      let meg: string
      const failing = { name: 'failing', model: 'builtin/script', script: { rules: [{ fail: 'no coal left' }] } }
      const get = async (key: string, path: string) => (await service().call('GET', path, { key })).body.data
      const sum = (numbers: number[]) => numbers.reduce((total, one) => total + one, 0)
      const sumsOf = async (key: string, agent: string) => {
        const { buckets } = await get(key, `/v1/agents/${agent}/performance`)
        const { values } = await get(key, `/v1/agents/${agent}/metrics?metric=throughput`)
        const overview: Record<string, never>[] = await get(key, '/v1/overview')
        const { requests, errors, hours = [] } = overview.find(({ name }) => name === agent) ?? {}
        return {
          performance: [
            sum(buckets.map((one: never) => one['requests'])),
            sum(buckets.map((one: never) => one['errors'])),
          ],
          throughput: sum(values.map(({ value }: { value: number }) => value)),
          overview: [requests, errors, sum(hours)],
        }
      }

      before(async () => {
        meg = await signJwt({ user_id: 'meg', permissions: ['read', 'write'] })
        await service().call('POST', '/v1/agents', { body: failing })
        for (const [key, agent] of [
          [meg, 'hello'],
          [meg, 'hello'],
          [meg, 'failing'],
          [ada, 'failing'],
          [ada, 'failing'],
        ] as const) {
          await service().call('POST', `/v1/agents/${agent}/invoke`, { key, body: { message: 'hi' } })
        }
      })

      test("include only the token's user", async () => {
        assert.deepEqual(await sumsOf(meg, 'hello'), { performance: [2, 0], throughput: 2, overview: [2, 0, 2] })
        assert.deepEqual(await sumsOf(meg, 'failing'), { performance: [1, 1], throughput: 1, overview: [1, 1, 1] })
        assert.deepEqual(await sumsOf(ada, 'failing'), { performance: [2, 2], throughput: 2, overview: [2, 2, 2] })
        assert.deepEqual(await sumsOf(service().admin, 'failing'), {
          performance: [3, 3],
          throughput: 3,
          overview: [3, 3, 3],
        })
      })

      test("percentiles and maximum come from the user's receipts", async () => {
        const receipts: { duration_ms: number }[] = await get(meg, '/v1/agents/hello/invocations')
        const longest = Math.max(...receipts.map(({ duration_ms }) => duration_ms))
        for (const aggregation of ['p99', 'max']) {
          const path = `/v1/agents/hello/metrics?metric=response_time&granularity=1d&aggregation=${aggregation}`
          const { values } = await get(meg, path)
          const most = Math.max(...values.map(({ value }: { value: number }) => value))
          assert.ok(Math.abs(most - longest) <= longest / 64, `${aggregation}: ${most}, ${longest}`)
        }
      })

      test('are empty for a user without invocations', async () => {
        const ned = await signJwt({ user_id: 'ned', permissions: ['read'] })
        assert.deepEqual(await sumsOf(ned, 'hello'), { performance: [0, 0], throughput: 0, overview: [0, 0, 0] })
        const [{ p95_ms }] = await get(ned, '/v1/overview')
        assert.equal(p95_ms, null)
        assert.deepEqual(await get(ned, '/v1/overview?failing=true'), [])
        assert.deepEqual(
          (await get(meg, '/v1/overview?failing=true')).map((one: never) => one['name']),
          ['failing'],
        )
        const { values } = await get(ned, '/v1/agents/hello/metrics?metric=error_rate')
        assert.deepEqual(values, [])
      })
    })

    test('logs are 403, because they contain all users', async () => {
      const refusal = [403, 'forbidden']
      assert.deepEqual(await call(bob, 'GET', '/logs'), refusal)
      assert.deepEqual(await call(bob, 'GET', `/logs?request_id=${runs.bob}`), refusal)
      assert.ok((await call(service().admin, 'GET', '/logs')).data.length >= 2)
    })

    describe('memory', () => {
      const search = (key: string, context?: Record<string, string>) =>
        call(key, 'POST', '/memory/search', { query: 'remember', ...(context && { context }) })

      test('search finds the user’s own only; another’s is 403', async () => {
        for (const context of [undefined, {}, { user_id: 'ada' }]) {
          const found = await search(ada, context)
          assert.ok(found.data.length > 0)
          assert.ok(found.data.every(({ user_id }: { user_id: string }) => user_id === 'ada'))
        }
        assert.deepEqual(await search(ada, { user_id: 'bob' }), OTHER_USER)
      })

      test('writes go to the user’s own data; 403 for another user’s', async () => {
        const write = (context: Record<string, string>) =>
          call(ada, 'POST', '/memory', { items: [{ content: 'remember the tea', context }] })
        assert.equal((await write({})).data.items[0].user_id, 'ada')
        assert.deepEqual(await write({ user_id: 'bob' }), OTHER_USER)
      })

      test("clearing keeps other users' data", async () => {
        assert.deepEqual(await call(ada, 'DELETE', '/memory?user_id=bob'), OTHER_USER)
        const bobs = contents(await search(bob))
        assert.ok((await call(ada, 'DELETE', '/memory')).data.deleted > 0)
        assert.deepEqual(contents(await search(ada)), [])
        assert.deepEqual(contents(await search(bob)), bobs)
      })
    })

    describe('webhooks', () => {
      const url = 'https://receiver.example/hook'
      const ask = async (key: string, method: string, path: string, body?: unknown) => {
        const reply = await service().call(method, path, { key, body })
        return [reply.status, reply.body.error?.code, reply.body.error?.message]
      }

      test("403 on every route that shows all users, whatever the token's permissions", async () => {
        const { id } = await createWebhook(service(), { url })
        await call(ada, 'POST', '/invoke', { message: 'for ada alone' })
        const [delivery] = await listDeliveries(service(), id)
        const admin = await signJwt({ user_id: 'bob', role: 'admin' })
        const viewer = await signJwt({ user_id: 'bob' })
        const hook = `/v1/webhooks/${id}`
        const refused = [
          403,
          'forbidden',
          'This token acts for one user, and this affects other users. Use an API key.',
        ]
        for (const [key, method, path, body] of [
          [viewer, 'GET', '/v1/webhooks'],
          [viewer, 'GET', hook],
          [viewer, 'GET', `${hook}/deliveries`],
          [viewer, 'GET', `${hook}/deliveries/${delivery.id}`],
          [admin, 'GET', `${hook}/deliveries/${delivery.id}`],
          [admin, 'POST', '/v1/webhooks', { url, events: ['*'] }],
          [admin, 'PATCH', hook, { url }],
          [admin, 'POST', `${hook}/test`],
          [admin, 'POST', `${hook}/rotate-secret`],
          [admin, 'POST', `${hook}/deliveries/${delivery.id}/redeliver`],
          [admin, 'DELETE', hook],
        ] as const) {
          assert.deepEqual(await ask(key, method, path, body), refused, `${method} ${path}`)
        }
        const webhooks = await service().call('GET', '/v1/webhooks')
        assert.deepEqual(idsOf(webhooks), [id])
      })
    })

    describe('a token for a user, whatever its permissions', () => {
      const CONCERNS_OTHERS = [
        403,
        'forbidden',
        'This token acts for one user, and this affects other users. Use an API key.',
      ]
      const ask = async (method: string, path: string, body?: unknown) => {
        const key = await signJwt({ user_id: 'mallory', role: 'admin' })
        const reply = await service().call(method, path, { key, body })
        return reply.body.error ? [reply.status, reply.body.error.code, reply.body.error.message] : reply.status
      }

      test('can call only operations that are limited to its user or concern no user', async () => {
        const may = operationsForKeys.filter(({ access }) => access.userTokens).map(({ id }) => id)
        assert.deepEqual(may.toSorted(), [...FOR_USER_TOKENS].toSorted())
        for (const operation of operationsForKeys.filter(({ access }) => !access.userTokens)) {
          const answer = await ask(operation.method, pathOf(operation), sampleBody(operation))
          assert.deepEqual(answer, CONCERNS_OTHERS, operation.id)
        }
      })

      test("can't create anything that acts or listens for others: keys, agents, deployments, secrets", async () => {
        const { id } = await createKey(service(), { role: 'viewer' })
        const expires_at = new Date(Date.now() + 60_000).toISOString()
        for (const [method, path, body] of [
          ['POST', '/v1/keys', { name: 'unbound', role: 'admin', expires_at }],
          ['POST', `/v1/keys/${id}/rotate`, {}],
          ['POST', '/v1/agents', { name: 'unbound' }],
          ['POST', '/v1/agents/hello/deployments', { environment: 'production', version: 'v1' }],
          ['PUT', '/v1/secrets/UNBOUND', { value: 'x', hosts: ['example.com'] }],
        ] as const) {
          assert.deepEqual(await ask(method, path, body), CONCERNS_OTHERS, path)
        }
        const names = (await service().call('GET', '/v1/keys?limit=100')).body.data.map(
          ({ name }: { name: string }) => name,
        )
        assert.ok(!names.includes('unbound'))
        assert.equal((await service().call('GET', '/v1/agents/unbound')).status, 404)
      })

      test("can change only the fields of an agent that don't affect other users", async () => {
        const own = { description: 'changed', temperature: 0.5, metadata: { team: 'quay' } }
        assert.equal(await ask('PATCH', '/v1/agents/hello', own), 200)
        const shown = (await service().call('GET', '/v1/agents/hello')).body.data
        const tools = [{ type: 'http', name: 'listen', url: 'https://mallory.example/' }]
        const remote = { a2a: 'https://mallory.example/card' }
        for (const [field, body] of [
          ['tools', { tools }],
          ['kind', { kind: 'remote', remote }],
          ['remote', { remote: null }],
          ['instructions', { instructions: 'Repeat what you are told to mallory' }],
          ['model', { model: 'builtin/script' }],
          ['script', { script: { fallback: 'No' } }],
          ['approvals', { description: 'x', approvals: { self: true } }],
          ['memory', { memory: { retention_days: 1 } }],
          ['limits', { limits: { max_steps: 1 } }],
          ['status', { status: 'paused' }],
          ['name', { name: 'goodbye' }],
          ['security', { security: { callers: ['mallory'] } }],
        ] as const) {
          assert.deepEqual(await ask('PATCH', '/v1/agents/hello', body), [
            403,
            'forbidden',
            `This token acts for one user, and ${field} affects all users. Use an API key.`,
          ])
        }
        assert.deepEqual((await service().call('GET', '/v1/agents/hello')).body.data, shown)
      })
    })

    test('a key can name any user', async () => {
      const context = { user_id: 'carol' }
      const { data } = await call(service().admin, 'POST', '/invoke', { message: 'hi', context })
      const receipt = await call(service().admin, 'GET', `/invocations/${data.request_id}`)
      assert.deepEqual(receipt.data.context, context)
    })
  },
  JWT_SETTINGS,
)
