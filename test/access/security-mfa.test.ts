import assert from 'node:assert/strict'
import { before, beforeEach, describe, test } from 'node:test'
import { Secret, TOTP } from 'otpauth'
import { type Authenticator, asHost, authenticator, enrol } from '../support/clients/mfa.ts'
import { storeOf } from '../support/inside.ts'
import { JWT_SETTINGS, signJwt } from '../support/outside/tokens.ts'
import { betweenNodes, onAnyEngine, onManyNodes } from '../support/service/service.ts'

type Key = { id: string; secret: string }

const refused = [401, 'mfa_required']

onManyNodes('multi-factor authentication', (service, engine) => {
  let key: Key
  let app: Authenticator
  let agents = 0

  const newKey = async (body: Record<string, unknown> = { role: 'admin', tier: 'enterprise' }): Promise<Key> =>
    (await service().call('POST', '/v1/keys', { body: { name: 'test', ...body } })).body.data

  /** An agent under a policy; its name. */
  const newAgent = async (mfa: Record<string, unknown> = {}) => {
    const name = `agent-${++agents}`
    const { status } = await service().call('POST', '/v1/agents', {
      body: { name, security: { mfa: { enabled: true, ...mfa } } },
    })
    assert.equal(status, 201)
    return name
  }

  const ask = async (method: string, path: string, code?: string, body?: unknown, asker = key.secret) => {
    const headers = code === undefined ? {} : { 'X-Service-OTP': code }
    const reply = await service().call(method, path, { key: asker, body, headers })
    const { error } = reply.body
    return error ? [reply.status, error.code] : reply.status
  }

  before(async () => {
    key = await newKey()
    app = await enrol(service(), key.id)
  })
  // Lets time pass so that each test has an unused code and no locked key.
  beforeEach(() => service().advance(600_000))

  describe('security.mfa of an agent', () => {
    test('requires a code for deletes and updates, but not for reads', async () => {
      const name = await newAgent()
      assert.equal(await ask('GET', `/v1/agents/${name}`), 200)
      assert.deepEqual(await ask('PATCH', `/v1/agents/${name}`, undefined, { temperature: 1 }), refused)
      assert.deepEqual(await ask('DELETE', `/v1/agents/${name}`), refused)
      assert.equal(await ask('PATCH', `/v1/agents/${name}`, app.code(), { temperature: 1 }), 200)
      service().advance(30_000)
      assert.equal(await ask('DELETE', `/v1/agents/${name}`, app.code()), 200)
    })

    test('creating or changing a schedule requires a code if invocations do', async () => {
      const name = await newAgent({ requiredFor: ['invoke'] })
      const path = `/v1/agents/${name}/schedules`
      const schedule = { every: '7d', message: 'Good morning' }
      assert.deepEqual(await ask('POST', path, undefined, schedule), refused)
      assert.equal(await ask('POST', path, app.code(), schedule), 201)
      const { body } = await service().call('GET', path)
      const change = { every: '1m', message: 'Something else' }
      assert.deepEqual(await ask('PATCH', `${path}/${body.data[0].id}`, undefined, change), refused)
      service().advance(30_000)
      assert.equal(await ask('PATCH', `${path}/${body.data[0].id}`, app.code(), change), 200)
    })

    test('erasing a user requires a code if an agent that the key has access to requires one', async () => {
      const name = await newAgent({ requiredFor: ['clear_memory'] })
      const { body } = await service().call('GET', `/v1/agents/${name}`)
      const { secret } = await newKey({ permissions: ['read', 'delete'], agent_id: body.data.id })
      assert.deepEqual(await ask('DELETE', '/v1/users/somebody', undefined, undefined, secret), refused)
      assert.deepEqual(await ask('DELETE', '/v1/users/somebody'), refused)
      assert.equal(await ask('DELETE', '/v1/users/somebody', app.code()), 200)
      const open = (await service().call('POST', '/v1/agents', { body: { name: `${name}-open` } })).body.data.id
      const { secret: other } = await newKey({ permissions: ['read', 'delete'], agent_id: open })
      assert.equal(await ask('DELETE', '/v1/users/somebody', undefined, undefined, other), 200)
    })

    test('the refusal names the missing factor as in RFC 9470', async () => {
      const name = await newAgent()
      const { headers } = await service().call('DELETE', `/v1/agents/${name}`, { key: key.secret })
      assert.equal(headers.get('www-authenticate'), 'Bearer realm="moorage", error="insufficient_user_authentication"')
    })

    test('other agents require no code', async () => {
      const { status } = await service().call('PATCH', '/v1/agents/hello', { body: { temperature: 1 } })
      assert.equal(status, 200)
    })

    test('each name in requiredFor protects its own operations only', async () => {
      const deployment = { environment: 'production', version: 'v1' }
      const name = await newAgent({ requiredFor: ['deploy', 'rollback', 'keys'] })
      assert.deepEqual(await ask('POST', `/v1/agents/${name}/deployments`, undefined, deployment), refused)
      assert.deepEqual(await ask('POST', `/v1/agents/${name}/deployments/dep_x/rollback`, undefined, {}), refused)
      const scoped = { name: 'scoped', agent_id: name, role: 'viewer' }
      assert.deepEqual(await ask('POST', '/v1/keys', undefined, scoped), refused)
      assert.equal(await ask('PATCH', `/v1/agents/${name}`, undefined, { temperature: 1 }), 200)
      assert.equal(await ask('POST', '/v1/keys', app.code(), scoped), 201)
      service().advance(30_000)
      assert.equal(await ask('POST', `/v1/agents/${name}/deployments`, app.code(), deployment), 201)
    })

    test('the names webhooks and clear_memory protect those operations, and so do update and delete', async () => {
      const named = await newAgent({ requiredFor: ['webhooks', 'clear_memory'] })
      const url = 'https://example.com/hook'
      const hook = { agent_id: named, url, events: ['agent.completed'] }
      assert.deepEqual(await ask('POST', '/v1/webhooks', undefined, hook), refused)
      assert.deepEqual(await ask('DELETE', `/v1/agents/${named}/memory`), refused)
      const created = await service().call('POST', '/v1/webhooks', {
        key: key.secret,
        body: hook,
        headers: { 'X-Service-OTP': app.code() },
      })
      assert.equal(created.status, 201)
      const path = `/v1/webhooks/${created.body.data.id}`
      for (const [method, target, body] of [
        ['PATCH', path, { description: 'x' }],
        ['DELETE', path],
        ['POST', `${path}/test`],
        ['POST', `${path}/rotate-secret`],
      ] as const) {
        assert.deepEqual(await ask(method, target, undefined, body), refused, `${method} ${target}`)
      }
      const plain = await newAgent({ requiredFor: ['delete', 'update'] })
      assert.deepEqual(await ask('DELETE', `/v1/agents/${plain}/memory`), refused)
      assert.equal(await ask('POST', '/v1/webhooks', undefined, { ...hook, agent_id: plain }), 201)
    })

    test('a callback requires a code if webhooks do, both for an existing run and in a new invocation or A2A message', async () => {
      const name = await newAgent({ requiredFor: ['webhooks'] })
      const callback = { url: 'https://example.com/hook' }
      const invoke = (more: object, code?: string) =>
        service().call('POST', `/v1/agents/${name}/invoke`, {
          key: key.secret,
          headers: { Prefer: 'respond-async', ...(code !== undefined && { 'X-Service-OTP': code }) },
          body: { message: 'hi', ...more },
        })
      const plain = await invoke({})
      assert.equal(plain.status, 202)
      const own = `/v1/agents/${name}/invocations/${plain.body.data.request_id}/callbacks`
      assert.deepEqual(await ask('POST', own, undefined, callback), refused)
      const without = await invoke({ callback })
      assert.deepEqual([without.status, without.body.error.code], [401, 'mfa_required'])
      assert.equal((await invoke({ callback }, app.code())).status, 202)

      service().advance(30_000)
      const message = { messageId: '1', role: 'ROLE_USER', parts: [{ text: 'hi' }] }
      const configuration = { taskPushNotificationConfig: callback }
      const send = (code?: string) =>
        service().call('POST', `/v1/agents/${name}/a2a`, {
          key: key.secret,
          headers: { 'A2A-Version': '1.0', ...(code !== undefined && { 'X-Service-OTP': code }) },
          body: { jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message, configuration } },
        })
      assert.match((await send()).text, /mfa_required/)
      assert.ok((await send(app.code())).body.result.task)
    })

    test("rotating or revoking the agent's keys requires a code on every path", async () => {
      const name = await newAgent({ requiredFor: ['delete'] })
      const scoped = await newKey({ agent_id: name, role: 'viewer' })
      const protectedKeys = { mfa: { enabled: true, requiredFor: ['keys'] } }
      assert.equal(await ask('PATCH', `/v1/agents/${name}`, app.code(), { security: protectedKeys }), 200)
      service().advance(30_000)
      assert.deepEqual(await ask('POST', `/v1/keys/${scoped.id}/rotate`), refused)
      assert.deepEqual(await ask('DELETE', `/v1/keys/${scoped.id}`), refused)
      assert.equal(await ask('DELETE', `/v1/keys/${scoped.id}`, app.code()), 200)
    })

    test('a key without a second factor is refused with any code', async () => {
      const name = await newAgent()
      const other = await newKey()
      for (const code of [app.code(), '000000']) {
        const reply = await ask('DELETE', `/v1/agents/${name}`, code, undefined, other.secret)
        assert.deepEqual(reply, refused)
      }
      assert.deepEqual(await ask('DELETE', `/v1/agents/${name}`, undefined, undefined, other.secret), refused)
    })

    for (const requiredFor of [['delete'], ['deploy'], []]) {
      test(`the policy can't be switched off without a code if it protects ${requiredFor.join() || 'nothing'}`, async () => {
        const name = await newAgent({ requiredFor })
        for (const body of [
          { security: null },
          { security: { mfa: { enabled: false } } },
          { temperature: 1, security: {} },
          { auth: null },
        ]) {
          assert.deepEqual(await ask('PATCH', `/v1/agents/${name}`, undefined, body), refused)
        }
        assert.equal(await ask('PATCH', `/v1/agents/${name}`, undefined, { temperature: 1 }), 200)
        assert.equal(await ask('PATCH', `/v1/agents/${name}`, app.code(), { security: null }), 200)
        assert.equal(await ask('DELETE', `/v1/agents/${name}`), 200)
      })
    }
  })

  describe('codes', () => {
    let name: string
    const update = (code?: string) => ask('PATCH', `/v1/agents/${name}`, code, { temperature: 1 })
    before(async () => {
      name = await newAgent()
    })

    test('any standard authenticator app can generate them', async () => {
      const totp = new TOTP({ secret: Secret.fromBase32(app.secret), digits: 6, period: 30, algorithm: 'SHA1' })
      assert.equal(await update(totp.generate({ timestamp: service().now() })), 200)
    })

    test("a wrong code is refused, and so is another key's code", async () => {
      const other = await newKey()
      const theirs = await enrol(service(), other.id)
      assert.deepEqual(await update(app.wrong()), refused)
      assert.deepEqual(await update(theirs.code()), refused)
      assert.equal(await update(app.code()), 200)
    })

    test('a code works once, and after it, earlier codes no longer work', async () => {
      const [last, current, next] = [app.code(-1), app.code(), app.code(1)]
      assert.equal(await update(current), 200)
      assert.deepEqual(await update(current), refused)
      assert.deepEqual(await update(last), refused)
      assert.equal(await update(next), 200)
    })

    betweenNodes(engine)('one code sent twenty times at once, to two nodes, is accepted once', async () => {
      const code = app.code()
      const other = await service().beside()
      other.advance(service().now() - other.now())
      const statuses = await Promise.all(
        Array.from({ length: 20 }, async (_, i) => {
          const { status } = await (i % 2 ? other : service()).call('PATCH', `/v1/agents/${name}`, {
            key: key.secret,
            body: { temperature: 1 },
            headers: { 'X-Service-OTP': code },
          })
          return status
        }),
      )
      await other.stop()
      assert.deepEqual(statuses.toSorted(), [200, ...Array(19).fill(401)])
    })

    test('repeating a request with the same code and Idempotency-Key returns the stored reply', async () => {
      const agent = await newAgent({ requiredFor: ['keys'] })
      const send = (headers: Record<string, string>, called = 'once') => {
        const body = { name: called, agent_id: agent, role: 'viewer' }
        return service().call('POST', '/v1/keys', { key: key.secret, body, headers })
      }
      const headers = { 'X-Service-OTP': app.code(), 'Idempotency-Key': `once-${agent}` }
      const first = await send(headers)
      assert.equal(first.status, 201, first.text)
      const again = await send(headers)
      assert.deepEqual([again.status, again.body.data], [201, first.body.data])
      assert.equal(again.headers.get('idempotent-replayed'), 'true')

      const { 'X-Service-OTP': _code, ...without } = headers
      for (const other of [
        await send(headers, 'another'),
        await send({ ...headers, 'Idempotency-Key': `other-${agent}` }),
        await send({ ...headers, 'X-Service-OTP': app.wrong() }),
        await send(without),
      ]) {
        assert.deepEqual([other.status, other.body.error.code], refused)
      }
      service().advance(30_000)
      const fresh = await send({ ...headers, 'X-Service-OTP': app.code() })
      assert.deepEqual([fresh.status, fresh.body.data], [201, first.body.data])
    })

    test('five wrong codes lock the key for five minutes; during that time, the right code is refused', async () => {
      for (let i = 0; i < 5; i++) assert.deepEqual(await update(app.wrong()), refused)
      const send = () =>
        service().call('PATCH', `/v1/agents/${name}`, {
          key: key.secret,
          body: { temperature: 1 },
          headers: { 'X-Service-OTP': app.code() },
        })
      const { status, headers, body } = await send()
      assert.equal(status, 429)
      assert.equal(body.error.code, 'rate_limited')
      assert.equal(headers.get('retry-after'), String(body.error.retry_after))
      assert.ok(body.error.retry_after > 240 && body.error.retry_after <= 300, String(body.error.retry_after))
      const factor = await service().call('GET', `/v1/keys/${key.id}/mfa`)
      assert.equal(factor.body.data.status, 'active')
      assert.ok(Date.parse(factor.body.data.locked_until) > service().now())
      assert.equal((await service().call('GET', '/v1/agents', { key: key.secret })).status, 200)
      service().advance(300_000)
      assert.equal((await send()).status, 200)
    })

    test('simultaneous wrong codes are counted like consecutive ones', async () => {
      const right = app.code()
      const guesses = Array.from({ length: 40 }, () => app.wrong())
      const replies = await Promise.all([...guesses, right, ...guesses].map((code) => update(code)))
      const wrong = replies.filter((reply) => Array.isArray(reply) && reply[0] === 401)
      assert.ok(wrong.length <= 9, `${wrong.length} guesses were judged`)
    })

    test("text that can't be a code is refused without being checked", async () => {
      for (const text of ['12345', '1234567', '12345a', ' ', '１２３４５６'].map(encodeURIComponent)) {
        assert.deepEqual(await update(text), refused)
      }
      assert.equal(await update(app.code()), 200)
    })

    test('a used code stays used after a restart', async () => {
      const code = app.code()
      assert.equal(await update(code), 200)
      await service().restart()
      assert.deepEqual(await update(code), refused)
    })
  })

  describe('enrolment', () => {
    const path = () => `/v1/keys/${key.id}/mfa`
    const enrolled = async (id: string) => (await service().call('GET', `/v1/keys/${id}/mfa`)).body.data.status

    test("a key without a factor can't add or remove one, for itself or for another key", async () => {
      const stolen = await newKey()
      const victim = await newKey()
      const own = `/v1/keys/${stolen.id}/mfa`
      for (const [method, target] of [
        ['POST', own],
        ['DELETE', own],
        ['POST', `/v1/keys/${victim.id}/mfa`],
        ['DELETE', path()],
      ] as const) {
        assert.deepEqual(await ask(method, target, undefined, undefined, stolen.secret), refused)
        assert.deepEqual(await ask(method, target, '123456', undefined, stolen.secret), refused)
      }
      assert.deepEqual([await enrolled(stolen.id), await enrolled(victim.id)], ['none', 'none'])
      assert.equal(await enrolled(key.id), 'active')
    })

    test("a key with a factor can't replace or remove its own", async () => {
      assert.deepEqual(await ask('POST', path(), app.code()), [403, 'forbidden'])
      service().advance(30_000)
      assert.deepEqual(await ask('DELETE', path(), app.code()), [403, 'forbidden'])
    })

    test('a key with a factor can add one to another key with a code; it is required after its first code', async () => {
      const other = await newKey()
      const target = `/v1/keys/${other.id}/mfa`
      assert.deepEqual(await ask('POST', target), refused)
      const { status, body } = await service().call('POST', target, {
        key: key.secret,
        headers: { 'X-Service-OTP': app.code() },
      })
      assert.equal(status, 200)
      const { secret, uri, ...rest } = body.data
      assert.deepEqual(rest, { key_id: other.id, status: 'pending' })
      assert.match(uri, new RegExp(`^otpauth://totp/Moorage:.*secret=${secret}`))
      const theirs = authenticator(service(), secret)
      const name = await newAgent()
      const remove = (code: string) => ask('DELETE', `/v1/agents/${name}`, code, undefined, other.secret)

      assert.equal(await enrolled(other.id), 'pending')
      assert.deepEqual(await remove(theirs.code()), refused)
      const confirm = (code: string) => ask('POST', `${target}/confirm`, undefined, { code }, other.secret)
      assert.deepEqual(await confirm(theirs.wrong()), [400, 'invalid_request'])
      assert.equal(await confirm(theirs.code()), 200)
      assert.equal(await enrolled(other.id), 'active')
      assert.deepEqual(await remove(theirs.code()), refused)
      service().advance(30_000)
      assert.equal(await remove(theirs.code()), 200)
    })

    test('the current factor works until the new one is confirmed with a code', async () => {
      const other = await newKey()
      const old = await enrol(service(), other.id)
      const { body } = await asHost(service(), 'POST', `/v1/keys/${other.id}/mfa`)
      const fresh = authenticator(service(), body.data.secret)
      const name = await newAgent()
      const update = (code: string) => ask('PATCH', `/v1/agents/${name}`, code, { temperature: 1 }, other.secret)
      assert.deepEqual(await update(fresh.code()), refused)
      assert.equal(await update(old.code()), 200)
      await asHost(service(), 'POST', `/v1/keys/${other.id}/mfa/confirm`, { code: fresh.code() })
      service().advance(60_000)
      assert.deepEqual(await update(old.code()), refused)
      assert.equal(await update(fresh.code()), 200)
    })

    test('409 if no factor is waiting to be confirmed; five wrong codes lock the key', async () => {
      const other = await newKey()
      const confirm = (code: string) => asHost(service(), 'POST', `/v1/keys/${other.id}/mfa/confirm`, { code })
      assert.equal((await confirm('123456')).status, 409)
      const { body } = await asHost(service(), 'POST', `/v1/keys/${other.id}/mfa`)
      const waiting = authenticator(service(), body.data.secret)
      for (let i = 0; i < 5; i++) assert.equal((await confirm(waiting.wrong())).status, 400)
      assert.equal((await confirm(waiting.code())).status, 429)
    })

    test('403 for a manage key with fewer permissions, or limited to another agent', async () => {
      const small = await newKey({ permissions: ['manage', 'read'] })
      const theirs = await enrol(service(), small.id)
      const reply = await ask('POST', path(), theirs.code(), undefined, small.secret)
      assert.deepEqual(reply, [403, 'forbidden'])
      const scoped = await newKey({ agent_id: 'hello', role: 'admin' })
      const scopedApp = await enrol(service(), scoped.id)
      assert.deepEqual(await ask('POST', path(), scopedApp.code(), undefined, scoped.secret), [403, 'forbidden'])
    })

    test('after another key removes it, its codes are no longer accepted for protected operations', async () => {
      const other = await newKey()
      const theirs = await enrol(service(), other.id)
      assert.equal(await ask('DELETE', `/v1/keys/${other.id}/mfa`, app.code()), 200)
      assert.equal(await enrolled(other.id), 'none')
      const name = await newAgent()
      const reply = await ask('DELETE', `/v1/agents/${name}`, theirs.code(), undefined, other.secret)
      assert.deepEqual(reply, refused)
    })

    test('the secret is in one reply only, and in no row, log, listing or stored reply', async () => {
      const other = await newKey()
      const headers = { 'X-Service-OTP': app.code(), 'Idempotency-Key': 'enrol-once' }
      const target = `/v1/keys/${other.id}/mfa`
      const { body } = await service().call('POST', target, { key: key.secret, headers })
      const { secret } = body.data
      service().advance(30_000)
      const again = { ...headers, 'X-Service-OTP': app.code() }
      const replay = await service().call('POST', target, { key: key.secret, headers: again })
      assert.equal(replay.headers.get('idempotent-replayed'), 'true')
      assert.equal(replay.body.data.secret, secret)

      const db = storeOf(service())
      const tables = ['key_factors', 'claims', 'audit_log', 'keys'] as const
      for (const table of tables) {
        const rows = JSON.stringify(await db.selectFrom(table).selectAll().execute())
        assert.equal(rows.includes(secret), false, table)
      }
      assert.equal(service().log().includes(secret), false)
      assert.equal((await service().call('GET', target)).text.includes(secret), false)
    })
  })
})

onAnyEngine(
  'security.mfa of the service',
  (service) => {
    test('protects every agent, every webhook and every key; only a key with a factor gets through', async () => {
      const { admin } = service()
      const created = await asHost(service(), 'POST', '/v1/keys', { name: 'second', role: 'admin' })
      const other = created.body.data as Key
      const app = await enrol(service(), other.id)
      const status = async (method: string, path: string, code?: string, body?: unknown, asker = other.secret) =>
        (
          await service().call(method, path, {
            key: asker,
            body,
            headers: code === undefined ? {} : { 'X-Service-OTP': code },
          })
        ).status
      assert.equal(await status('DELETE', '/v1/agents/hello'), 401)
      assert.equal(await status('DELETE', '/v1/agents/hello', undefined, undefined, admin), 401)
      assert.equal(await status('POST', '/v1/keys', undefined, { name: 'x', role: 'viewer' }), 401)
      assert.equal(await status('DELETE', `/v1/keys/${other.id}`, undefined, undefined, admin), 401)
      assert.equal(await status('PATCH', '/v1/agents/hello', undefined, { temperature: 1 }), 200)
      assert.equal(await status('PATCH', '/v1/agents/hello', undefined, { security: {} }), 401)
      assert.equal(await status('POST', '/v1/keys', app.code(), { name: 'x', role: 'viewer' }), 201)
      service().advance(30_000)
      assert.equal(await status('DELETE', '/v1/agents/hello', app.code()), 200)
    })

    test('a token has no second factor, so it cannot', async () => {
      const iat = Math.floor(service().now() / 1000)
      const token = await signJwt({ role: 'admin', iat, exp: iat + 600 })
      await service().call('POST', '/v1/agents', { body: { name: 'kept' } })
      const { status, body } = await service().call('DELETE', '/v1/agents/kept', {
        key: token,
        headers: { 'X-Service-OTP': '123456' },
      })
      assert.deepEqual([status, body.error.code], refused)
    })
  },
  {
    MOORAGE_SECURITY__MFA__ENABLED: 'true',
    MOORAGE_SECURITY__MFA__REQUIRED_FOR: 'delete,keys',
    ...JWT_SETTINGS,
  },
)
