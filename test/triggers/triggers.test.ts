import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fieldsOf } from '../support/clients/refusal.ts'
import { rowsOf, storeOf, wakeJobs } from '../support/inside.ts'
import { JWT_SETTINGS, signJwt } from '../support/outside/tokens.ts'
import { until } from '../support/running/until.ts'
import { newAgent } from '../support/service/agents.ts'
import { inProject, onBothEngines, type Service, withService } from '../support/service/service.ts'
import { createKey } from '../support/slices/resources.ts'
import { createTrigger, type MadeTrigger, post, setSecret, signed } from '../support/slices/triggers.ts'

const SECRET = 'octo-secret'
const VERIFY = { scheme: 'github', secret: 'GITHUB' }

const TRIAGE = {
  name: 'triage',
  verify: VERIFY,
  filter: [
    { path: '{{header.X-GitHub-Event}}', equals: 'issues' },
    { path: '/action', in: ['opened', 'reopened'] },
    { path: '/issue/pull_request', exists: false },
  ],
  message: 'Issue {{/issue/number}}: {{/issue/title}}{{/issue/nothing}}\n{{ /issue/labels }} {{header.x-github-event}}',
  user_from: '/sender/login',
  session_from: '{{/repository/full_name}}#{{/issue/number}}',
}

const issue = (number: number, more: object = {}) => ({
  action: 'opened',
  issue: { number, title: 'Upside down', labels: [{ name: 'bug' }] },
  repository: { full_name: 'octo/harbour' },
  sender: { login: 'octocat' },
  ...more,
})

const github = (payload: unknown) => signed.github(SECRET, JSON.stringify(payload))
const untimed = { body: '', headers: {} }

onBothEngines(
  'triggers',
  (service) => {
    const send = (address: string, payload: unknown) => post(service(), address, github(payload))
    const accepted = async (address: string, payload: unknown): Promise<string> => {
      const reply = await send(address, payload)
      assert.equal(reply.status, 202, reply.text)
      return reply.body.data.request_id
    }
    const made = async (fields: object = {}, agent?: object) => {
      await setSecret(service(), 'GITHUB', SECRET)
      const agent_id = await newAgent(service(), agent)
      const trigger = await createTrigger(service(), agent_id, { ...TRIAGE, ...fields })
      return { agent_id, path: `/v1/agents/${agent_id}/triggers/${trigger.id}`, ...trigger }
    }
    const ok = async (method: string, path: string, options: object = {}) => {
      const reply = await service().call(method, path, options)
      assert.ok(reply.status < 300, `${method} ${path} ${reply.text}`)
      return reply.body.data
    }
    const receipt = (agent_id: string, request_id: string) =>
      until('the run has ended', async () => {
        const found = await ok('GET', `/v1/agents/${agent_id}/invocations/${request_id}`)
        return ['queued', 'running'].includes(found.status) ? undefined : found
      })

    test('are created, listed, changed and deleted', async () => {
      const { path, ...trigger } = (await made()) as MadeTrigger & { agent_id: string; path: string }
      const { agent_id } = trigger
      const { id, address, created_at, created_by, ...rest } = trigger
      assert.match(address, /^\/v1\/in\/[\w-]{43}$/)
      const { updated_at, updated_by, last_delivery_at, disabled_reason, ...asked } = rest as Record<string, unknown>
      assert.deepEqual(
        [updated_at, updated_by, last_delivery_at, disabled_reason],
        [created_at, created_by, null, null],
      )
      const defaults = { agent_id, kind: 'webhook', environment: 'production', enabled: true, dedupe_from: null }
      const channels = { slack: null, telegram: null, email: null, reply: null }
      assert.deepEqual(asked, {
        ...TRIAGE,
        ...defaults,
        ...channels,
        user_prefix: 'github:',
        on_budget: 'fail',
        priority: 'normal',
      })

      assert.deepEqual(await ok('GET', path), trigger)
      assert.deepEqual(await ok('GET', `/v1/agents/${agent_id}/triggers`), [trigger])
      service().advance(1_000)
      const changed = await ok('PATCH', path, { body: { user_prefix: 'gh-', name: null, filter: [] } })
      const changes = { user_prefix: 'gh-', name: null, filter: [], updated_at: changed.updated_at }
      assert.deepEqual(changed, { ...trigger, ...changes })
      assert.ok(changed.updated_at > (created_at as string))

      await ok('PATCH', path, { body: { enabled: false } })
      const disabled = await send(address, issue(1))
      const unknown = await post(service(), '/v1/in/unknown', untimed)
      assert.deepEqual([disabled.status, disabled.body.error], [404, unknown.body.error], 'senders see no difference')
      assert.deepEqual(await ok('GET', `/v1/agents/${agent_id}/triggers?enabled=true`), [])
      await ok('PATCH', path, { body: { enabled: true } })
      await accepted(address, issue(1))
      assert.deepEqual(await ok('DELETE', path), { id, deleted: true })
      assert.equal((await send(address, issue(2))).status, 404)
      assert.equal((await service().call('GET', path)).status, 404)
      wakeJobs(service())
      await until('its deliveries are removed', async () =>
        (await rowsOf(service(), 'incoming_deliveries')).every(
          (row) => (row as { trigger_id: string }).trigger_id !== id,
        ),
      )
    })

    test('the payload becomes the message, the user and the session; the run is a background run', async () => {
      const { agent_id, path, address, id } = await made()
      const request_id = await accepted(address, issue(17, { id: 12345678901234567890n.toString() }))
      const run = await receipt(agent_id, request_id)
      assert.equal(run.message, 'Issue 17: Upside down\n[{"name":"bug"}] issues')
      const [delivery] = await ok('GET', `${path}/deliveries`)
      assert.deepEqual(run.context, {
        user_id: 'github:octocat',
        session_id: 'octo/harbour#17',
        trigger: { id, delivery_id: delivery.id },
      })
      assert.deepEqual([run.door, run.status, run.environment], ['trigger', 'completed', 'production'])
      assert.equal(run.created_by, (await ok('GET', '/v1/keys/self')).id)
      const { created_at, ...shown } = delivery
      assert.deepEqual(shown, {
        id: delivery.id,
        trigger_id: id,
        outcome: 'accepted',
        code: null,
        reason: null,
        request_id,
        user_id: 'github:octocat',
        session_id: 'octo/harbour#17',
        repeats: 0,
        replay_of: null,
        has_payload: true,
        answer: null,
      })
      assert.equal((await ok('GET', path)).last_delivery_at, created_at)
      const { payload, headers } = await ok('GET', `${path}/deliveries/${delivery.id}`)
      assert.deepEqual(JSON.parse(payload), issue(17, { id: '12345678901234567890' }))
      assert.equal(headers['x-github-event'], 'issues')
      assert.ok(!JSON.stringify(headers).includes('sha256='), 'signatures are not stored')
      assert.deepEqual((await ok('GET', `/v1/invocations?door=trigger&request_id=${request_id}`)).length, 1)

      const filtered = await send(address, issue(17, { action: 'closed' }))
      assert.deepEqual([filtered.status, filtered.body.data.ignored], [200, true])
      const pull = issue(18, { issue: { number: 18, title: 'x', pull_request: {} } })
      assert.equal((await send(address, pull)).body.data.ignored, true)
      const outcomes = (await ok('GET', `${path}/deliveries?sort=created_at`)).map(
        (one: { outcome: string }) => one.outcome,
      )
      assert.deepEqual(outcomes, ['accepted', 'filtered', 'filtered'])
    })

    test('the same event many times at once starts one run', async () => {
      const { agent_id, address, path } = await made()
      const replies = await Promise.all(Array.from({ length: 12 }, () => send(address, issue(3))))
      assert.equal(replies.filter(({ status }) => status === 202).length, 1)
      assert.ok(replies.every(({ status }) => status === 200 || status === 202))
      assert.equal(new Set(replies.map(({ body }) => body.data.request_id)).size, 1)
      assert.equal((await ok('GET', `/v1/agents/${agent_id}/invocations`)).length, 1)
      const [delivery, ...others] = await ok('GET', `${path}/deliveries`)
      assert.deepEqual([delivery.repeats, others], [11, []])
    })

    test('what names the event can be chosen; without a name every delivery runs', async () => {
      const none = { verify: { scheme: 'none' }, filter: [], message: '{{body}}', user_from: null, session_from: null }
      const { address, agent_id } = await made({ ...none, dedupe_from: '/order' })
      const plain = async (payload: unknown) => {
        const reply = await post(service(), address, { body: JSON.stringify(payload), headers: {} })
        return reply.status
      }
      assert.deepEqual(
        [
          await plain({ order: 1, at: 1 }),
          await plain({ order: 1, at: 2 }),
          await plain({ order: '2' }),
          await plain({}),
        ],
        [202, 200, 202, 400],
      )
      // JavaScript reads both numbers as the same.
      const big = (digits: string) => post(service(), address, { body: `{"order":${digits}}`, headers: {} })
      assert.equal((await big('9007199254740993')).status, 202)
      assert.equal((await big('9007199254740992')).status, 202)
      await ok(
        'PATCH',
        `/v1/agents/${agent_id}/triggers/${(await ok('GET', `/v1/agents/${agent_id}/triggers`))[0].id}`,
        {
          body: { dedupe_from: null },
        },
      )
      assert.deepEqual([await plain({ order: 1 }), await plain({ order: 1 })], [202, 202])
      const form = await post(service(), address, {
        body: 'command=%2Ftide&payload=%7B%22a%22%3A1%7D',
        headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
      })
      const { message } = await receipt(agent_id, form.body.data.request_id)
      assert.deepEqual(JSON.parse(message), { command: '/tide', payload: { a: 1 } })
    })

    test('what cannot become a run is refused, is listed with the reason, and can be replayed', async () => {
      const { address, agent_id, path } = await made()
      const nobody = await send(address, issue(4, { sender: {} }))
      assert.deepEqual([nobody.status, nobody.body.error.message.startsWith('user_from (/sender/login)')], [400, true])
      await ok('PATCH', `/v1/agents/${agent_id}`, { body: { status: 'paused' } })
      const paused = await send(address, issue(5))
      assert.deepEqual([paused.status, paused.body.error.code], [409, 'agent_paused'])
      await ok('PATCH', `/v1/agents/${agent_id}`, { body: { status: 'running' } })
      const [second, first] = await ok('GET', `${path}/deliveries?outcome=failed`)
      assert.deepEqual([first.code, second.code, second.has_payload], ['invalid_request', 'agent_paused', true])

      const replayed = await ok('POST', `${path}/deliveries/${second.id}/replay`)
      const run = await receipt(agent_id, replayed.request_id)
      assert.match(run.message, /^Issue 5: /)
      const [copy] = await ok('GET', `${path}/deliveries`)
      assert.deepEqual(
        [copy.id, copy.replay_of, copy.request_id],
        [replayed.delivery_id, second.id, replayed.request_id],
      )
      const unread = await service().call('POST', `${path}/deliveries/${first.id}/replay`)
      assert.equal(unread.status, 400, unread.text)
      await ok('PATCH', path, { body: { user_from: null } })
      await ok('POST', `${path}/deliveries/${first.id}/replay`)
      const filtered = await send(address, issue(5, { action: 'closed' }))
      const again = await service().call('POST', `${path}/deliveries/${filtered.body.data.delivery_id}/replay`)
      assert.deepEqual([again.status, again.body.error.code], [409, 'conflict'])
    })

    test('a source that finds too much is refused and listed, and test says so', async () => {
      for (const field of ['dedupe_from', 'session_from', 'user_from']) {
        const { address, path } = await made({ [field]: '{{body}}', filter: [] })
        const long = issue(4, { text: 'x'.repeat(100_000) })
        const refused = await send(address, long)
        assert.deepEqual([refused.status, refused.body.error.code], [400, 'invalid_request'], refused.text)
        assert.match(refused.body.error.message, new RegExp(`^${field} .* more than 100000 characters`))
        assert.deepEqual(
          (await ok('GET', `${path}/deliveries`)).map(({ outcome }: { outcome: string }) => outcome),
          ['failed'],
        )
        const tested = await ok('POST', `${path}/test`, { body: { payload: long } })
        assert.deepEqual([tested.outcome, tested.reason], ['failed', refused.body.error.message])
      }
    })

    test('test: shows what an example, a payload or a delivery would become, and runs it on request', async () => {
      const { path, address, agent_id } = await made()
      const sample = await ok('POST', `${path}/test`)
      assert.deepEqual([sample.outcome, sample.user_id, sample.secret_found], ['accepted', 'github:octocat', true])
      assert.match(sample.message, /^Issue 17: The harbour map/)
      assert.equal(sample.request_id, null)
      const closed = await ok('POST', `${path}/test`, { body: { payload: issue(1, { action: 'closed' }) } })
      assert.deepEqual([closed.outcome, closed.message], ['filtered', null], 'and no header says which event it is')
      const missing = await ok('POST', `${path}/test`, {
        body: { payload: issue(1, { sender: null }), headers: { 'X-GitHub-Event': 'issues' } },
      })
      assert.deepEqual([missing.outcome, missing.reason.includes('finds nothing')], ['failed', true])
      assert.deepEqual(await ok('GET', `${path}/deliveries`), [], 'a test is no delivery')
      await accepted(address, issue(9))
      const [delivery] = await ok('GET', `${path}/deliveries`)
      const run = await ok('POST', `${path}/test`, { body: { delivery_id: delivery.id, run: true } })
      assert.match((await receipt(agent_id, run.request_id)).message, /^Issue 9: /)
    })

    test('a session takes turns: messages are answered in the order in which they came', async () => {
      const script = { model: 'builtin/script', script: { rules: [{ reply: 'aye', delay_ms: 20 }] } }
      const { address, agent_id } = await made({ message: '{{/issue/title}}' }, script)
      const ids: string[] = []
      for (let i = 0; i < 5; i++) ids.push(await accepted(address, issue(1, { issue: { number: 1, title: `${i}` } })))
      const runs = await Promise.all(ids.map((id) => receipt(agent_id, id)))
      assert.deepEqual(
        runs.map(({ message }) => message),
        ['0', '1', '2', '3', '4'],
      )
      const began = runs.map(({ started_at }) => started_at)
      assert.deepEqual(began, began.toSorted())
    })

    test('stops when the key that changed it last ends, and only then', async () => {
      const first = await createKey(service(), { role: 'developer' })
      const last = await createKey(service(), { role: 'developer' })
      await setSecret(service(), 'GITHUB', SECRET)
      const agent_id = await newAgent(service())
      const { id, address } = await createTrigger(service(), agent_id, TRIAGE, first.secret)
      const path = `/v1/agents/${agent_id}/triggers/${id}`
      await ok('PATCH', path, { body: { name: 'mine' }, key: last.secret })
      await ok('DELETE', `/v1/keys/${first.id}`)
      const run = await receipt(agent_id, await accepted(address, issue(1)))
      assert.equal(run.created_by, last.id)
      await ok('DELETE', `/v1/keys/${last.id}`)
      assert.equal((await send(address, issue(2))).status, 404)
      const { enabled, disabled_reason } = await ok('GET', path)
      assert.deepEqual([enabled, disabled_reason], [false, 'key_revoked'])
      await ok('PATCH', path, { body: { enabled: true } })
      await accepted(address, issue(3))
    })

    test('a reader sees deliveries and no URL; another project sees nothing; a key of another agent is refused', async () => {
      const { path, agent_id } = await made()
      const reader = await createKey(service(), { permissions: ['read'] })
      const as = async (method: string, at: string, key: string, body?: object) =>
        (await service().call(method, at, { key, ...(body && { body }) })).status
      assert.deepEqual(
        [
          await as('GET', path, reader.secret),
          await as('GET', `/v1/agents/${agent_id}/triggers`, reader.secret),
          await as('POST', `${path}/test`, reader.secret),
          await as('GET', `${path}/deliveries`, reader.secret),
        ],
        [403, 403, 403, 200],
      )
      const project = await ok('POST', '/v1/projects', { body: { name: `other-${agent_id.slice(-8).toLowerCase()}` } })
      assert.equal((await inProject(service(), project.id).call('GET', path)).status, 404)
      const other = await createKey(service(), { agent_id: await newAgent(service()), role: 'developer' })
      assert.equal(await as('GET', path, other.secret), 403)
      const user = await signJwt({ user_id: 'ann', role: 'admin' })
      assert.equal(await as('POST', `/v1/agents/${agent_id}/triggers`, user, { ...TRIAGE }), 403)
    })

    test('erasing a run or a user removes the payload, and the event still starts no other run', async () => {
      const { address, agent_id, path } = await made()
      const one = await accepted(address, issue(1))
      await receipt(agent_id, one)
      const bob = issue(2, { sender: { login: 'bob' } })
      await receipt(agent_id, await accepted(address, bob))
      const exported = await service().call('GET', '/v1/users/github:bob/export')
      const lines = exported.text
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line))
      const line = lines.find(({ type }) => type === 'delivery')
      assert.deepEqual([line.agent_id, JSON.parse(line.payload)], [agent_id, bob])

      await ok('DELETE', `/v1/agents/${agent_id}/invocations/${one}`)
      assert.equal((await ok('DELETE', '/v1/users/github:bob')).deliveries, 1)
      for (const { id, has_payload, user_id, session_id } of await ok('GET', `${path}/deliveries`)) {
        assert.deepEqual([has_payload, user_id, session_id], [false, null, null])
        assert.deepEqual((await ok('GET', `${path}/deliveries/${id}`)).headers, {})
      }
      assert.equal((await send(address, bob)).body.data.repeated, true)
      const { name } = await ok('GET', path)
      assert.equal(name, 'triage', 'the trigger itself stays')
    })

    test('a payload with which no run can start is erased with its user too', async () => {
      const { address } = await made({ message: '{{/text}}', session_from: '/room', dedupe_from: '/n' })
      const bob = { action: 'opened', sender: { login: 'bob' }, room: 'r', text: 'Hi', n: '1', note: 'My secret berth' }
      const unusable = [{ text: '' }, { text: 'x'.repeat(100_001) }, { room: undefined }, { n: undefined }]
      for (const fields of unusable) assert.equal((await send(address, { ...bob, ...fields })).status, 400)
      const long = await send(address, { ...bob, room: 'r'.repeat(257) })
      assert.equal(long.body.error.message, 'The session_id must have at most 256 characters.')
      await ok('DELETE', '/v1/users/github:bob')
      const rows = await rowsOf(service(), 'incoming_deliveries')
      assert.ok(!JSON.stringify(rows).includes('My secret berth'))
    })

    test('old deliveries are removed, and the URL is nowhere in the store in plain text', async () => {
      const { address, path, id } = await made()
      await accepted(address, issue(1))
      const stored = JSON.stringify([await rowsOf(service(), 'triggers'), await rowsOf(service(), 'audit_log')])
      assert.ok(!stored.includes(address.split('/').at(-1) as string))
      await storeOf(service())
        .updateTable('incoming_deliveries')
        .set({ id: 'inc_00000000000000000000000000' })
        .where('trigger_id', '=', id)
        .execute()
      await storeOf(service()).updateTable('jobs').set({ run_at: 0 }).where('kind', '=', 'retention').execute()
      wakeJobs(service())
      await until('it is removed', async () => (await ok('GET', `${path}/deliveries`)).length === 0)
    })

    test('what is wrong is refused by the name of the field', async () => {
      await setSecret(service(), 'GITHUB', SECRET)
      const agent_id = await newAgent(service())
      const wrong: [object, string][] = [
        [{ verify: undefined }, 'verify'],
        [{ verify: { scheme: 'md5', secret: 'GITHUB' } }, 'verify.scheme'],
        [{ verify: { scheme: 'github', secret: 'NONE' } }, 'verify.secret'],
        [{ verify: { scheme: 'none', secret: 'GITHUB' } }, 'verify.secret'],
        [{ message: '{{issue}}' }, 'message'],
        [{ message: 'x {{header.Authorization}}' }, 'message'],
        [{ message: '{{/a}}'.repeat(101) }, 'message'],
        [{ user_from: 'login' }, 'user_from'],
        [{ session_from: '/a~b' }, 'session_from'],
        [{ filter: [{ path: '/a' }] }, 'filter.0'],
        [{ filter: [{ path: 'a', equals: 1 }] }, 'filter.0.path'],
        [{ user_prefix: 'a\nb' }, 'user_prefix'],
      ]
      for (const [fields, field] of wrong) {
        const reply = await service().call('POST', `/v1/agents/${agent_id}/triggers`, {
          body: { ...TRIAGE, ...fields },
        })
        assert.deepEqual([reply.status, fieldsOf(reply.body)], [400, [field]], reply.text)
      }
      const { address, id } = await createTrigger(service(), agent_id, { message: 'x', verify: { scheme: 'none' } })
      const bodies: [string, string, number][] = [
        ['{', 'application/json', 400],
        ['{"a":"\\u0000"}', 'application/json', 400],
        ['['.repeat(40) + ']'.repeat(40), 'application/json', 400],
        ['x'.repeat(1_100_000), 'application/json', 413],
        ['<a/>', 'application/xml', 415],
        ['{"a":1}', 'application/cloudevents+json', 202],
      ]
      for (const [body, type, status] of bodies) {
        const reply = await post(service(), address, { body, headers: { 'Content-Type': type } })
        assert.equal(reply.status, status, `${body.slice(0, 20)} ${reply.text}`)
      }
      const failed = `/v1/agents/${agent_id}/triggers/${id}/deliveries?outcome=failed&sort=created_at`
      const codes = (await service().call('GET', failed)).body.data.map(({ code }: { code: string }) => code)
      assert.deepEqual(codes, [...Array(3).fill('invalid_request'), 'unsupported_media_type'])
    })
  },
  JWT_SETTINGS,
)

test('limits: how many triggers an agent has, how often one accepts, how long a message is', async () => {
  const settings = {
    MOORAGE_TRIGGERS__MAX_PER_AGENT: '1',
    MOORAGE_LIMITS__TIERS: '{"pro":{"requestsPerMinute":3,"burst":3}}',
  }
  await withService(
    'sqlite',
    async (service: Service) => {
      const agent_id = await newAgent(service)
      const { address } = await createTrigger(service, agent_id, { message: '{{body}}', verify: { scheme: 'none' } })
      const path = `/v1/agents/${agent_id}/triggers`
      const second = await service.call('POST', path, { body: { message: 'x', verify: { scheme: 'none' } } })
      assert.deepEqual([second.status, second.body.error.code], [409, 'conflict'])
      const long = JSON.stringify({ a: 'x'.repeat(100_000) })
      assert.equal((await post(service, address, { body: long, headers: {} })).status, 400)
      const statuses = []
      for (let i = 0; i < 3; i++) statuses.push((await post(service, address, { body: `[${i}]`, headers: {} })).status)
      assert.deepEqual(statuses, [202, 202, 429])
    },
    settings,
  )
})
