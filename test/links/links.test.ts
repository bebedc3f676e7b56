import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, test } from 'node:test'
import { assertRefusal, fieldsOf } from '../support/clients/refusal.ts'
import { readEvents } from '../support/clients/sse.ts'
import { rowsOf } from '../support/inside.ts'
import { until } from '../support/running/until.ts'
import { newAgent } from '../support/service/agents.ts'
import { onBothEngines, onOneEngine, type Service } from '../support/service/service.ts'
import { createLink, type Link, VisitorBrowser } from '../support/slices/links.ts'
import { createKey } from '../support/slices/resources.ts'

/** Each call of this model costs a dollar. */
const DEAR = { model: 'builtin/recall' }
const SETTINGS = { MOORAGE_PRICES: JSON.stringify([{ model: DEAR.model, input: 0, output: 0, request: 1 }]) }

const ASKS = {
  model: 'builtin/script',
  tools: [{ type: 'ask_person' }],
  script: { rules: [{ call: { tool: 'ask_person', arguments: { question: 'Which berth?' } } }] },
}
const SLOW = { model: 'builtin/script', script: { rules: [{ reply: 'late', delay_ms: 60_000 }] } }

onBothEngines(
  'links',
  (service) => {
    const opened = async (fields: object = {}, body: object = {}) => {
      const agent = await newAgent(service(), fields)
      const link = await createLink(service(), agent, body)
      return { agent, link, path: `/v1/agents/${agent}/links/${link.id}`, visitor: new VisitorBrowser(service(), link) }
    }
    const deploy = (agent: string, environment: string, version: string) =>
      service().call('POST', `/v1/agents/${agent}/deployments`, { body: { environment, version } })
    const receiptOf = async (agent: string, request_id: string) =>
      (await service().call('GET', `/v1/agents/${agent}/invocations/${request_id}`)).body.data

    describe('POST /v1/agents/{agent_id}/links', () => {
      test('returns a URL that only those see who may invoke; the store has no token of it', async () => {
        const agent = await newAgent(service())
        const body = {
          name: 'Harbour help',
          origins: ['https://www.example.com'],
          limits: { messages_per_visitor: 20, cost_usd: 5 },
          welcome: 'Ahoy!',
          starters: ['When is high tide?'],
        }
        const created = await service().call('POST', `/v1/agents/${agent}/links`, { body })
        assert.equal(created.status, 201, created.text)
        const { id, url, budget_id, created_by, created_by_name: _name, created_at: _at, ...rest } = created.body.data
        assert.match(id, /^lnk_/)
        assert.match(url, /^\/chat\/[\w-]{32}$/)
        assert.equal(created.headers.get('location'), `/v1/agents/${agent}/links/${id}`)
        assert.equal(created_by, (await service().call('GET', '/v1/keys/self')).body.data.id)
        const used = { visitors: 0, messages: 0, cost_usd: 0 }
        const fixed = { agent_id: agent, environment: 'production', status: 'active', expires_at: null, used }
        assert.deepEqual(rest, { ...body, ...fixed, warnings: [] })
        const { data: budget } = (await service().call('GET', `/v1/budgets/${budget_id}`)).body
        assert.deepEqual([budget.scope, budget.limit, budget.per], [{ type: 'key', id }, { cost_usd: 5 }, 'ever'])

        const { warnings: _, ...shown } = created.body.data
        assert.deepEqual((await service().call('GET', `/v1/agents/${agent}/links`)).body.data, [shown])
        const viewer = await createKey(service(), { name: 'viewer', role: 'viewer' })
        const seen = await service().call('GET', `/v1/agents/${agent}/links/${id}`, { key: viewer.secret })
        assert.deepEqual(seen.body.data, { ...shown, url: null })
        const token = url.slice('/chat/'.length)
        const stored = await Promise.all(
          (['links', 'keys', 'audit_log', 'claims'] as const).map((table) => rowsOf(service(), table)),
        )
        assert.ok(!JSON.stringify(stored).includes(token))
        assert.ok(!service().log().includes(token))
        // The key of a link is not one of those that people manage.
        const listed = await service().call('GET', '/v1/keys?limit=100')
        assert.ok(!listed.text.includes(id))
        assertRefusal(await service().call('POST', `/v1/keys/${id}/rotate`), 404, 'not_found')
        for (const key of [token, `mrg_${token}`, `link:${token}`])
          assert.equal((await service().call('GET', '/v1/keys/self', { key })).status, 401)
        for (const credential of [token, `link:${token}`]) {
          const headers = { 'X-Moorage-Console': '1' }
          const reply = await service().call('POST', '/console/session', {
            key: null,
            headers,
            body: { key: credential },
          })
          assert.equal(reply.status, 401, reply.text)
        }
      })

      test('400 for wrong fields, 403 without write, for more than the maker has, and for one who ends', async () => {
        const agent = await newAgent(service())
        const path = `/v1/agents/${agent}/links`
        for (const [field, body] of [
          ['origins.0', { origins: ['https://www.example.com/shop'] }],
          ['origins.0', { origins: ['https://*.example.com'] }],
          ['origins.0', { origins: ['https://example.com;script-src-elem', 'https://other.example.com'] }],
          ['origins.0', { origins: ['https://example.com,script-src'] }],
          ['expires_at', { expires_at: '2020-01-01T00:00:00Z' }],
          ['limits.messages_per_visitor', { limits: { messages_per_visitor: 0 } }],
          ['limits.cost_usd', { limits: { cost_usd: -1 } }],
          ['starters', { starters: Array.from({ length: 7 }, () => 'Hi') }],
          ['welcome', { welcome: 'x'.repeat(2_001) }],
          ['name', { name: 'a\nb' }],
        ] as const) {
          const reply = await service().call('POST', path, { body })
          assert.deepEqual([reply.status, fieldsOf(reply.body)], [400, [field]], reply.text)
        }
        const reader = await createKey(service(), { name: 'reader', role: 'viewer' })
        assertRefusal(await service().call('POST', path, { body: {}, key: reader.secret }), 403, 'forbidden')
        const soon = new Date(service().now() + 60_000).toISOString()
        const brief = await createKey(service(), { name: 'brief', role: 'admin', expires_at: soon })
        assertRefusal(await service().call('POST', path, { body: {}, key: brief.secret }), 403, 'forbidden')
      })
    })

    describe('a visitor', () => {
      test('reads their own conversation, and nothing of how the agent works', async () => {
        const { agent, link, visitor, path } = await opened()
        const events = await visitor.hear('Is the tide in?')
        const [{ request_id }] = events.map(({ data }) => data) as [{ request_id: string }]
        assert.deepEqual([...new Set(events.map(({ event }) => event))], ['start', 'delta', 'done'])
        const done = events.at(-1)?.data as { data: { response: string } }
        assert.deepEqual(done, { success: true, data: { request_id, response: done.data.response } })
        const second = await visitor.say('And now?')
        assert.equal(second.status, 200, second.text)

        const receipt = await receiptOf(agent, request_id)
        assert.deepEqual([receipt.door, receipt.created_by, receipt.context.session_id], ['link', link.id, 'main'])
        assert.match(receipt.context.user_id, /^link:[0-9a-f]{32}$/)
        const history = await visitor.call('/messages')
        const [, first] = history.body.data
        assert.deepEqual(Object.keys(history.body), ['data', 'has_more'])
        const { response } = done.data
        const shown = { message: 'Is the tide in?', created_at: receipt.created_at, attachments: [] }
        assert.deepEqual(first, { request_id, status: 'completed', response, ...shown, error: null, score: null })
        assert.deepEqual((await visitor.call('/messages?session_id=other')).body.data, [])
        const { data } = (await service().call('GET', path)).body
        assert.deepEqual(data.used, { visitors: 1, messages: 2, cost_usd: null })

        const rated = await visitor.call(`/messages/${request_id}/feedback`, { method: 'PUT', body: { score: 1 } })
        assert.equal(rated.status, 200, rated.text)
        assert.equal((await visitor.call(`/messages/${request_id}`)).body.data.score, 1)
        assert.equal((await receiptOf(agent, request_id)).feedback[0].user_id, receipt.context.user_id)
      })

      test('cannot reach the conversation of another visitor, of another link, or of a key', async () => {
        const { agent, link, visitor } = await opened()
        const { request_id } = (await visitor.say('My secret')).body.data
        const ofKey = await service().call('POST', `/v1/agents/${agent}/invoke`, { body: { message: 'Ours' } })
        const other = new VisitorBrowser(service(), link)
        const elsewhere = new VisitorBrowser(service(), await createLink(service(), agent))
        elsewhere.cookie = visitor.cookie
        const attempts: [VisitorBrowser, string][] = [
          [other, request_id],
          [elsewhere, request_id],
          [visitor, ofKey.body.data.request_id],
        ]
        for (const [who, id] of attempts) {
          const one = `/messages/${id}`
          const body = { decision: 'approve' }
          for (const [rest, asked] of [
            ['', {}],
            ['/stream', {}],
            ['/cancel', { method: 'POST' }],
            ['/approvals/c', { method: 'POST', body }],
            ['/feedback', { method: 'PUT', body: { score: 1 } }],
          ] as const) {
            const reply = await who.call(one + rest, asked)
            assertRefusal(reply, 404, 'not_found')
          }
        }
        await other.say('Mine')
        const { data } = (await other.call('/messages')).body
        assert.deepEqual(
          data.map(({ message }: { message: string }) => message),
          ['Mine'],
        )
        // Another visitor who sends the same key gets an answer of their own.
        const key = randomUUID()
        const [one, two] = [await visitor.say('Same', {}, key), await other.say('Same', {}, key)]
        assert.notEqual(one.body.data.request_id, two.body.data.request_id)
        assert.equal((await visitor.say('Same', {}, key)).body.data.request_id, one.body.data.request_id)
      })

      test('decides what their own runs ask, if the agent and the maker of the link allow it', async () => {
        const { agent, visitor } = await opened({ ...ASKS, approvals: { self: true } })
        const asked = await visitor.say('A berth, please')
        assert.equal(asked.status, 202, asked.text)
        const { request_id, approvals } = asked.body.data
        const [{ call_id, ...question }] = approvals
        assert.deepEqual(question, { kind: 'question', question: 'Which berth?' })
        const body = { decision: 'approve', answer: 'Number 4' }
        const decided = await visitor.call(`/messages/${request_id}/approvals/${call_id}`, { method: 'POST', body })
        assert.equal(decided.status, 200, decided.text)
        const { status } = await until('the run has ended', async () => {
          const receipt = await receiptOf(agent, request_id)
          return receipt.finished_at === null ? undefined : receipt
        })
        assert.equal(status, 'completed')

        const writer = await createKey(service(), { name: 'writer', role: 'developer' })
        const made = await service().call('POST', `/v1/agents/${agent}/links`, { body: {}, key: writer.secret })
        const closed = (await opened(ASKS)).visitor
        for (const who of [closed, new VisitorBrowser(service(), made.body.data as Link)]) {
          const waits = (await who.say('A berth, please')).body.data
          assert.deepEqual([waits.status, waits.approvals], ['waiting', []])
          const at = `/messages/${waits.request_id}/approvals/${call_id}`
          assert.notEqual((await who.call(at, { method: 'POST', body })).status, 200)
        }
      })

      test('decides in a gradual deployment if the version that answers them allows it', async () => {
        const { agent, visitor } = await opened(ASKS)
        await deploy(agent, 'production', 'v1')
        await service().call('PATCH', `/v1/agents/${agent}`, { body: { approvals: { self: true } } })
        const strategy = { steps: [{ percent: 50, minutes: 600 }] }
        const body = { environment: 'production', version: 'v2', strategy }
        assert.equal((await service().call('POST', `/v1/agents/${agent}/deployments`, { body })).status, 201)
        const runs = new Map<string, { request_id: string; session_id: string }>()
        for (let i = 0; i < 40 && runs.size < 2; i++) {
          const session_id = `s${i}`
          const { request_id, approvals } = (await visitor.say('A berth, please', { session_id })).body.data
          const { version } = await receiptOf(agent, request_id)
          runs.set(version, { request_id, session_id })
          assert.equal(approvals.length, version === 'v2' ? 1 : 0, version)
        }
        assert.deepEqual([...runs.keys()].toSorted(), ['v1', 'v2'])
        const streamed = async (path: string) => {
          for await (const { event, data } of readEvents(await visitor.fetch(path))) {
            if (event === 'waiting') return (data as { approvals: unknown[] }).approvals.length
          }
          return undefined
        }
        const named = [...runs.values()].map(({ session_id }) => `?session_id=${session_id}`)
        for (const [version, { request_id }] of runs) {
          // Whatever session a page names, that of the run counts.
          for (const query of ['', ...named]) {
            assert.equal(await streamed(`/messages/${request_id}/stream${query}`), version === 'v2' ? 1 : 0, version)
          }
        }
      })

      test('a message that they cancelled shows no error', async () => {
        const { visitor } = await opened(SLOW)
        const headers = { Accept: 'text/event-stream', 'Idempotency-Key': randomUUID() }
        const response = await visitor.fetch('/messages', { method: 'POST', body: { message: 'Hello' }, headers })
        const first = await readEvents(response).next()
        const { request_id } = (first.value?.data ?? {}) as { request_id: string }
        assert.equal((await visitor.call(`/messages/${request_id}/cancel`, { method: 'POST' })).status, 200)
        const [{ status, error }] = (await visitor.call('/messages')).body.data
        assert.deepEqual([status, error], ['cancelled', null])
      })

      test('sends files as bytes only, and errors name nothing of the service', async () => {
        const { agent, visitor } = await opened()
        const data = Buffer.from('berth 4').toString('base64')
        const sent = await visitor.say('Read this', {
          attachments: [{ data, media_type: 'text/plain', name: 'note.txt' }],
        })
        assert.equal(sent.status, 200, sent.text)
        const shown = (await visitor.call('/messages')).body.data[0].attachments
        assert.deepEqual(shown, [{ name: 'note.txt', media_type: 'text/plain', size: 7 }])
        for (const attachment of [{ file_id: 'file_1' }, { url: 'https://example.com/' }]) {
          const reply = await visitor.say('Read that', { attachments: [attachment] })
          assert.equal(reply.status, 400, reply.text)
        }
        assert.equal((await visitor.say('Hi', { environment: 'staging' })).status, 400)
        await service().call('PATCH', `/v1/agents/${agent}`, { body: { status: 'paused' } })
        const paused = await visitor.say('Hello?')
        assertRefusal(paused, 409, 'agent_paused')
        assert.equal(paused.body.error.message, "This chat isn't available at the moment.")
      })
    })

    describe('limits', () => {
      test('messages of a visitor sent at once do not exceed the limit, and one sent again counts once', async () => {
        const { visitor, link, path } = await opened({}, { limits: { messages_per_visitor: 3 } })
        const key = randomUUID()
        await visitor.say('first', {}, key)
        assert.equal((await visitor.say('first', {}, key)).status, 200)
        const replies = await Promise.all(Array.from({ length: 6 }, (_, i) => visitor.say(`m${i}`)))
        const refused = replies.filter(({ status }) => status !== 200)
        assert.equal(refused.length, 4, JSON.stringify(replies.map(({ body }) => body)))
        for (const reply of refused) assertRefusal(reply, 429, 'budget_exceeded')
        assert.equal((await new VisitorBrowser(service(), link).say('another visitor')).status, 200)
        assert.deepEqual((await service().call('GET', path)).body.data.used.messages, 4)
      })

      test('a cancelled message counts, and a key that starts another run counts again', async () => {
        const slow = { ...SLOW, sessions: { while_busy: 'parallel' } }
        const { visitor, agent, path } = await opened(slow, { limits: { messages_per_visitor: 4 } })
        const keys = [randomUUID(), randomUUID()]
        const cancelled = async (key = '') => {
          const said = visitor.say('Again', {}, key)
          const ids = await until('the run', async () => {
            const { body } = await visitor.call('/messages')
            const running = body.data.filter(({ status }: { status: string }) => status === 'running')
            return running.length > 0 && running.map(({ request_id }: { request_id: string }) => request_id)
          })
          for (const id of ids) await visitor.call(`/messages/${id}/cancel`, { method: 'POST' })
          assertRefusal(await said, 409, 'conflict')
        }
        await visitor.call('/messages')
        for (const key of [keys[0], keys[0], keys[1], keys[0]]) await cancelled(key)
        // Many at once, with keys that were counted before, and in another session.
        const again = [...keys, keys[1]].map((key) => visitor.say('Again', {}, key))
        const refused = await Promise.all([
          ...again,
          visitor.say('Again'),
          visitor.say('Again', { session_id: 'other' }),
        ])
        for (const reply of refused) assertRefusal(reply, 429, 'budget_exceeded')
        assert.equal((await service().call('GET', path)).body.data.used.messages, 4)
        const runs = await service().call('GET', `/v1/agents/${agent}/invocations`)
        assert.equal(runs.body.pagination.total, 4)
      })

      test('many visitors at once do not spend more than the link allows', async () => {
        const { agent, link, path } = await opened(DEAR, { limits: { cost_usd: 3 } })
        const hook = { agent_id: agent, url: 'https://hook.example.com/', events: ['budget.exceeded'] }
        assert.equal((await service().call('POST', '/v1/webhooks', { body: hook })).status, 201)
        const visitors = Array.from({ length: 12 }, () => new VisitorBrowser(service(), link))
        const replies = await Promise.all(visitors.map((each) => each.say('How much?')))
        const answered = replies.filter(({ status }) => status === 200)
        assert.equal(answered.length, 3, JSON.stringify(replies.map(({ body }) => body)))
        for (const reply of replies.filter(({ status }) => status !== 200)) {
          const { code, message, details } = reply.body.error
          assert.deepEqual([reply.status, code, details], [429, 'budget_exceeded', undefined])
          assert.match(message, /^This chat has reached its limit/)
        }
        assert.equal((await service().call('GET', path)).body.data.used.cost_usd, 3)
        const { scope } = (await service().call('GET', `/v1/budgets/${link.budget_id}`)).body.data
        assert.deepEqual(scope, { type: 'key', id: link.id })
        const told = (await rowsOf(service(), 'events')).map(({ body }) => JSON.parse(body ?? '{}').data)
        const exceeded = told.find(({ budget_id }) => budget_id === link.budget_id)
        assert.deepEqual(exceeded?.scope, scope)
      })

      test('a visitor who sends too fast waits', async () => {
        const { visitor } = await opened()
        await visitor.call('/messages')
        const replies = await Promise.all(Array.from({ length: 14 }, (_, i) => visitor.say(`m${i}`)))
        const slow = replies.filter(({ status }) => status === 429)
        assert.ok(slow.length >= 3, `${slow.length} were slowed down`)
        assert.ok(slow.every(({ body, headers }) => body.error.code === 'rate_limited' && headers.get('retry-after')))
      })
    })

    describe('which version answers', () => {
      test('the deployed one; the draft only while nothing was deployed', async () => {
        const { agent, visitor } = await opened()
        const staged = new VisitorBrowser(service(), await createLink(service(), agent, { environment: 'staging' }))
        const versionOf = async (who: VisitorBrowser) =>
          (await receiptOf(agent, (await who.say('Hi')).body.data.request_id)).version
        assert.equal(await versionOf(visitor), null)
        await deploy(agent, 'production', 'v1')
        assert.equal(await versionOf(visitor), 'v1')
        const refused = await staged.say('Hi')
        assertRefusal(refused, 409, 'conflict')
        await deploy(agent, 'staging', 'v2')
        assert.equal(await versionOf(staged), 'v2')
      })
    })

    describe('which pages may use the chat', () => {
      const page = (origin: string, site = 'cross-site') => ({ headers: { Origin: origin, 'Sec-Fetch-Site': site } })

      test('its own, and those of listed origins, which browsers ask for first', async () => {
        const shop = 'https://shop.example.com'
        const { visitor } = await opened({}, { origins: [shop] })
        const allowed = await visitor.call('/messages', page(shop))
        assert.equal(allowed.status, 200)
        assert.deepEqual(
          ['access-control-allow-origin', 'access-control-allow-credentials', 'vary'].map((name) =>
            allowed.headers.get(name),
          ),
          [shop, 'true', 'Origin'],
        )
        assert.equal((await visitor.call('/messages', page(service().url, 'same-origin'))).status, 200)
        for (const foreign of [
          page('https://evil.example.com'),
          page('null'),
          { headers: { 'Sec-Fetch-Site': 'cross-site' } },
        ]) {
          const refused = await visitor.call('/messages', foreign)
          assertRefusal(refused, 403, 'forbidden')
          assert.equal(refused.headers.get('access-control-allow-origin'), null)
        }
        assertRefusal(await visitor.call('/messages', { headers: { 'X-Moorage-Chat': '' } }), 403, 'forbidden')
        const preflight = (origin: string) =>
          visitor.fetch('/messages', {
            method: 'OPTIONS',
            headers: { Origin: origin, 'Access-Control-Request-Method': 'POST', 'X-Moorage-Chat': '' },
          })
        const granted = await preflight(shop)
        assert.equal(granted.status, 200)
        assert.match(granted.headers.get('access-control-allow-headers') ?? '', /X-Moorage-Chat/)
        const denied = await preflight('https://evil.example.com')
        assert.deepEqual([denied.status, denied.headers.get('access-control-allow-origin')], [403, null])
      })

      test('a slash at the end leads to the page, because its files are relative to it', async () => {
        const { link } = await opened()
        const moved = await fetch(`${service().url}${link.url}/?from=mail`, { redirect: 'manual' })
        const target = new URL(moved.headers.get('location') ?? '', moved.url)
        assert.deepEqual([moved.status, target.pathname], [308, link.url])
        assert.equal((await fetch(`${service().url}/chat/${'x'.repeat(32)}/`)).status, 404)
      })

      test('the cookie is for this host, and no script reads it', async () => {
        const { visitor, link } = await opened()
        const given = async (headers: Record<string, string>) =>
          (
            await fetch(`${service().url}${link.url}/messages`, { headers: { 'X-Moorage-Chat': '1', ...headers } })
          ).headers.getSetCookie()
        assert.match(
          String(await given({})),
          /^moorage-chat-\d+=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Max-Age=15552000$/,
        )
        await visitor.call('/messages')
        assert.deepEqual(await given({ Cookie: visitor.cookie }), [])
      })
    })

    describe('the end of a link', () => {
      const gone = async (visitor: VisitorBrowser) => assertRefusal(await visitor.call('/messages'), 404, 'not_found')

      test('deleting it ends its runs and streams, and its receipts stay', async () => {
        const { agent, visitor, path, link } = await opened(SLOW, { limits: { cost_usd: 1 } })
        const headers = { Accept: 'text/event-stream', 'Idempotency-Key': randomUUID() }
        const response = await visitor.fetch('/messages', { method: 'POST', body: { message: 'Hello' }, headers })
        const events = readEvents(response)
        const first = await events.next()
        assert.ok(!first.done)
        const { request_id } = first.value.data as { request_id: string }
        assert.deepEqual((await service().call('DELETE', path)).body.data, { id: link.id, deleted: true })
        await assert.rejects(async () => {
          for await (const event of events) if (event.event === 'error') throw new Error('it was told')
        })
        const ended = await until('the run has ended', async () => {
          const receipt = await receiptOf(agent, request_id)
          return receipt.finished_at === null ? undefined : receipt
        })
        assert.deepEqual(
          [ended.status, ended.created_by_name],
          ['cancelled', (await service().call('GET', `/v1/agents/${agent}`)).body.data.name],
        )
        await gone(visitor)
        assertRefusal(await service().call('GET', path), 404, 'not_found')
        assertRefusal(await service().call('GET', `/v1/budgets/${link.budget_id}`), 404, 'not_found')
        assertRefusal(await service().call('DELETE', path), 404, 'not_found')
      })

      test('deleting it cancels what waits for people', async () => {
        const { agent, visitor, path } = await opened({ ...ASKS, approvals: { self: true } })
        const { request_id } = (await visitor.say('A berth, please')).body.data
        await service().call('DELETE', path)
        await until(
          'the run has ended',
          async () => (await receiptOf(agent, request_id)).status === 'cancelled' || undefined,
        )
      })

      test('an expired or unknown one, and that of a deleted agent, look the same', async () => {
        const expires_at = new Date(service().now() + 3_600_000).toISOString()
        const { visitor, path, agent } = await opened({}, { expires_at })
        assert.equal((await visitor.say('Hi')).status, 200)
        service().advance(3_600_000)
        await gone(visitor)
        assert.equal((await service().call('GET', path)).body.data.status, 'expired')
        await gone(new VisitorBrowser(service(), { url: `/chat/${'x'.repeat(32)}` }))
        const lasting = await createLink(service(), agent)
        const other = new VisitorBrowser(service(), lasting)
        assert.equal((await other.say('Hi')).status, 200)
        await service().call('DELETE', `/v1/agents/${agent}`)
        await gone(other)
      })

      test('an erased user is no visitor any more', async () => {
        const { agent, visitor, path } = await opened()
        const { request_id } = (await visitor.say('Forget me')).body.data
        const { user_id } = (await receiptOf(agent, request_id)).context
        assert.equal((await service().call('DELETE', `/v1/users/${user_id}`)).status, 200)
        assert.deepEqual((await service().call('GET', path)).body.data.used.visitors, 0)
        assert.deepEqual((await visitor.call('/messages')).body.data, [])
      })
    })
  },
  SETTINGS,
)

/** It blocks an address, so it has a service of its own. No query decides. */
onOneEngine(
  'links behind a proxy',
  (service: () => Service) => {
    test('over HTTPS only this host sets the cookie, and a frame of another site has its own', async () => {
      const origin = 'https://shop.example.com'
      const link = await createLink(service(), await newAgent(service()), { origins: [origin] })
      const given = async (headers: Record<string, string>) => {
        const sent = { 'X-Moorage-Chat': '1', 'X-Forwarded-For': '192.0.2.7', 'X-Forwarded-Proto': 'https', ...headers }
        const [cookie = ''] = (
          await fetch(`${service().url}${link.url}/messages`, { headers: sent })
        ).headers.getSetCookie()
        return cookie.replace(/=[\w-]{43};/, ';')
      }
      const always = '__Host-moorage-chat; Path=/; HttpOnly;'
      assert.equal(await given({}), `${always} SameSite=Lax; Secure; Max-Age=15552000`)
      assert.equal(await given({ Origin: origin }), `${always} SameSite=None; Partitioned; Secure; Max-Age=15552000`)
    })

    test('an address that guesses is stopped', async () => {
      const link = await createLink(service(), await newAgent(service()))
      const guesses = Array.from({ length: 40 }, (_, i) => String(i).padStart(32, '0'))
      const statuses: number[] = []
      for (const guess of guesses)
        statuses.push((await new VisitorBrowser(service(), { url: `/chat/${guess}` }).call('/messages')).status)
      assert.deepEqual([...new Set(statuses)], [404, 429])
      assert.equal((await new VisitorBrowser(service(), link).call('/messages')).status, 429)
      service().advance(60_000)
      assert.equal((await new VisitorBrowser(service(), link).call('/messages')).status, 200)
    })
  },
  { MOORAGE_SERVER__TRUSTED_PROXIES: '127.0.0.0/8' },
)
