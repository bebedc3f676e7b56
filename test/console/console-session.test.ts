import assert from 'node:assert/strict'
import { test } from 'node:test'
import { removeExpired } from '../../src/console/store.ts'
import { asHost, enrol } from '../support/clients/mfa.ts'
import { ConsoleTab } from '../support/console/console-tab.ts'
import { storageOf, storeOf } from '../support/inside.ts'
import { until } from '../support/running/until.ts'
import { betweenNodes, onManyNodes, withService } from '../support/service/service.ts'
import { createAgent, createKey, later } from '../support/slices/resources.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE

onManyNodes('console sign-in', (service, engine) => {
  const newTab = (headers?: Record<string, string>) => new ConsoleTab(service, headers)
  const signedIn = async (body: object = { role: 'admin', tier: 'enterprise' }) => {
    const key = await createKey(service(), body)
    const tab = newTab()
    await tab.signIn(key.secret)
    return { key, tab }
  }

  test('with a key: 201, an HttpOnly and SameSite cookie, and what the key has access to', async () => {
    const agent_id = await createAgent(service(), 'seen')
    const key = await createKey(service(), { name: 'of the console', role: 'viewer', agent_id })
    const tab = newTab()
    const { body, headers } = await tab.signIn(key.secret)
    const { session_id, expires_at, features, version, ...data } = body.data
    assert.match(session_id, /^cns_/)
    assert.match(version, /^\d+\.\d+\.\d+/)
    assert.ok(features.includes('listAgents') && !features.includes('createAgent') && !features.includes('createKey'))
    assert.ok(Math.abs(Date.parse(expires_at) - Date.now() - 12 * HOUR) < MINUTE)
    assert.deepEqual(data, {
      signed_in: true,
      actor_id: key.id,
      key: { id: key.id, name: 'of the console', hint: key.hint },
      person: null,
      issuers: [],
      has_people: false,
      permissions: ['read'],
      reach: 'project',
      project_id: 'prj_default',
      projects: [],
      agent_id,
      user_id: null,
      mfa: { enrolled: false, required_for: [] },
      idle_seconds: 3600,
    })
    const port = new URL(service().url).port
    assert.match(tab.setCookie, new RegExp(`^moorage-${port}=[\\w-]{43}; Path=/; HttpOnly; SameSite=Strict$`))
    assert.equal(headers.get('cache-control'), 'no-store')
    const again = await tab.ask('GET', '/console/session')
    assert.deepEqual(again.body.data, body.data)
  })

  test('a key with access to all projects gets the list, the default project first, if it can read', async () => {
    const { body } = await service().call('POST', '/v1/projects', { body: { name: 'annex' } })
    const sessionOf = async (permissions: string[]) => {
      const { tab } = await signedIn({ permissions, all_projects: true })
      return (await tab.ask('GET', '/console/session')).body.data
    }
    const offered = [
      { id: 'prj_default', name: 'default' },
      { id: body.data.id, name: 'annex' },
    ]
    assert.partialDeepStrictEqual(await sessionOf(['read']), { reach: 'service', projects: offered })
    assert.deepEqual((await sessionOf(['invoke'])).projects, [])
    await service().call('DELETE', '/v1/projects/annex?name=annex')
  })

  test('200 with signed_in: false if no one is signed in', async () => {
    const { status, body } = await newTab().ask('GET', '/console/session')
    assert.equal(status, 200)
    assert.equal(body.data.signed_in, false)
  })

  test('401 without a cookie for a wrong key and for a wrong link, with the same message', async () => {
    const tab = newTab()
    const replies = [
      await tab.ask('POST', '/console/session', { body: { key: 'mrg_wrong' } }),
      await tab.ask('POST', '/console/session', { body: { link_token: 'x'.repeat(43) } }),
    ]
    for (const { status, body } of replies) {
      assert.deepEqual([status, body.error.code], [401, 'unauthorized'])
      assert.equal(body.error.message, replies[0]?.body.error.message)
    }
    assert.equal(tab.cookie, '')
  })

  test('400 for neither key nor link, both, and unknown fields', async () => {
    for (const body of [{}, { key: 'a', link_token: 'b' }, { key: 1 }, { key: 'a', more: 1 }, [], 'no JSON']) {
      const { status } = await newTab().ask('POST', '/console/session', { body })
      assert.equal(status, 400, JSON.stringify(body))
    }
  })

  test("the cookie gives access to the API with the key's permissions, limits and scope", async () => {
    const { tab } = await signedIn({ role: 'viewer', tier: 'free' })
    const listed = await tab.ask('GET', '/v1/agents')
    assert.equal(listed.status, 200)
    assert.equal(listed.headers.get('x-ratelimit-limit'), '60')
    assert.equal((await tab.ask('POST', '/v1/agents', { body: { name: 'no' } })).status, 403)
    const agent_id = await createAgent(service(), 'own')
    const scoped = await signedIn({ role: 'developer', agent_id })
    assert.equal((await scoped.tab.ask('GET', '/v1/agents/hello')).status, 403)
    const asked = await scoped.tab.ask('POST', '/v1/agents/own/invoke', { body: { message: 'hi' } })
    assert.equal(asked.status, 200, asked.text)
    // The receipt says where it was asked for.
    const { body } = await service().call('GET', '/v1/invocations?door=console')
    assert.deepEqual(
      body.data.map(({ request_id }: { request_id: string }) => request_id),
      [asked.body.data.request_id],
    )
  })

  test('the cookie also works for streams', async () => {
    const { tab } = await signedIn()
    const { status, text } = await tab.ask('POST', '/v1/agents/hello/invoke', {
      body: { message: 'ahoy' },
      headers: { Accept: 'text/event-stream' },
    })
    assert.equal(status, 200)
    assert.match(text, /event: done/)
  })

  test('changes made in the console are in the audit log, with the session and its key', async () => {
    const { key, tab } = await signedIn()
    const made = await tab.ask('POST', '/v1/agents', { body: { name: `by-console-${engine}` } })
    assert.equal(made.status, 201, made.text)
    await tab.ask('DELETE', '/console/session')
    const { body } = await service().call('GET', `/v1/audit-log?actor=${key.id}&sort=created_at`)
    const told = body.data.map(({ actor_kind, action, outcome }: Record<string, string>) => [
      actor_kind,
      action,
      outcome,
    ])
    assert.deepEqual(told, [
      ['console', 'signIn', 'success'],
      ['console', 'createAgent', 'success'],
      ['console', 'signOut', 'success'],
    ])
    assert.equal(body.data[0].target, body.data[2].target)
  })

  test('a one-time code is required and accepted if a policy requires one', async () => {
    const { key, tab } = await signedIn()
    const app = await enrol(service(), key.id)
    assert.equal((await tab.ask('GET', '/console/session')).body.data.mfa.enrolled, true)
    const agent = await createAgent(service(), 'guarded', {
      security: { mfa: { enabled: true, requiredFor: ['delete'] } },
    })
    const refused = await tab.ask('DELETE', `/v1/agents/${agent}`)
    assert.deepEqual([refused.status, refused.body.error.code], [401, 'mfa_required'])
    assert.equal(await tab.isIn(), true, 'to be asked for a code signs nobody out')
    const { status } = await tab.ask('DELETE', `/v1/agents/${agent}`, { headers: { 'X-Service-OTP': app.code() } })
    assert.equal(status, 200)
  })

  test('a key in the header has priority over the cookie, whether or not it is valid', async () => {
    const { tab, key } = await signedIn()
    const other = await createKey(service(), { role: 'viewer' })
    const self = await tab.ask('GET', '/v1/keys/self', { headers: { Authorization: `Bearer ${other.secret}` } })
    assert.equal(self.body.data.id, other.id)
    assert.equal((await tab.ask('GET', '/v1/keys/self')).body.data.id, key.id)
    for (const Authorization of ['Bearer mrg_wrong', 'Basic abc', 'Bearer']) {
      assert.equal((await tab.ask('GET', '/v1/keys/self', { headers: { Authorization } })).status, 401, Authorization)
    }
  })

  test('signing out ends the session on the server, and not only the cookie', async () => {
    const { tab } = await signedIn()
    const { cookie } = tab
    const { status, body } = await tab.ask('DELETE', '/console/session')
    assert.deepEqual([status, body.data.signed_in], [200, false])
    assert.equal(tab.cookie, '')
    assert.equal((await tab.ask('GET', '/v1/agents', { headers: { Cookie: cookie } })).status, 401)
    assert.equal((await tab.ask('DELETE', '/console/session')).status, 200, 'again is no error')
  })

  test('a session ends after an hour without use, and after twelve hours in any case', async () => {
    const { tab } = await signedIn()
    assert.equal(await later(service(), 59 * MINUTE, () => tab.isIn()), true)
    assert.equal(await later(service(), 120 * MINUTE, () => tab.isIn()), false, 'unused since 61 minutes')
    const used = (await signedIn()).tab
    for (let minutes = 30; minutes < 12 * 60; minutes += 30) {
      assert.equal(await later(service(), minutes * MINUTE, () => used.isIn()), true, `${minutes} minutes`)
    }
    assert.equal(await later(service(), 12 * HOUR, () => used.isIn()), false)
  })

  test("a session's secret is replaced every 15 minutes; the old one works for a minute, and later use ends the session", async () => {
    const { tab, key } = await signedIn()
    const first = tab.cookie
    const status = async (cookie: string) => {
      const asked = new ConsoleTab(service)
      return (await asked.ask('GET', '/v1/agents', { headers: { Cookie: cookie } })).status
    }
    await later(service(), 16 * MINUTE, async () => {
      await tab.ask('GET', '/v1/agents')
      assert.notEqual(tab.cookie, first)
      assert.equal(await status(first), 200, 'requests under way')
      assert.equal(await status(tab.cookie), 200)
      assert.equal(await status(first), 200, 'within the grace')
    })
    await later(service(), 18 * MINUTE, async () => {
      assert.equal(await status(tab.cookie), 200)
      assert.equal(await status(first), 401, 'a stolen cookie has a short life')
      assert.equal(await status(tab.cookie), 401, 'two have the cookie: nobody knows who stole it')
    })
    const { body } = await service().call('GET', `/v1/audit-log?action=endStolenSession&actor=${key.id}`)
    assert.equal(body.data.length, 1)
  })

  test('a session continues with the old secret if the reply with the new one was lost', async () => {
    const { tab } = await signedIn()
    const first = tab.cookie
    const withFirst = async () => {
      tab.cookie = first
      return (await tab.ask('GET', '/v1/agents')).status
    }
    await later(service(), 16 * MINUTE, async () => {
      assert.equal(await withFirst(), 200)
    })
    await later(service(), 20 * MINUTE, async () => {
      assert.equal(await withFirst(), 200)
      const fresh = tab.cookie
      assert.notEqual(fresh, first, 'another secret was sent')
      assert.equal(await withFirst(), 200, 'that reply may be lost too, and other requests are on their way')
      tab.cookie = fresh
      assert.equal(await tab.isIn(), true)
    })
  })

  test('revoking or rotating the key, or its expiry, ends its sessions immediately', async () => {
    const revoked = await signedIn()
    assert.equal((await service().call('DELETE', `/v1/keys/${revoked.key.id}`)).status, 200)
    assert.equal((await revoked.tab.ask('GET', '/v1/agents')).status, 401)
    const rotated = await signedIn()
    assert.equal((await service().call('POST', `/v1/keys/${rotated.key.id}/rotate`, { body: {} })).status, 200)
    assert.equal((await rotated.tab.ask('GET', '/v1/agents')).status, 401)
    const expires_at = new Date(Date.now() + 10 * MINUTE).toISOString()
    const expiring = await signedIn({ role: 'viewer', expires_at })
    assert.equal(await later(service(), 9 * MINUTE, () => expiring.tab.isIn()), true)
    assert.equal(await later(service(), 11 * MINUTE, () => expiring.tab.isIn()), false)
  })

  test("a session started with a rotated key's old secret ends with its grace period", async () => {
    const key = await createKey(service(), { role: 'viewer' })
    await service().call('POST', `/v1/keys/${key.id}/rotate`, { body: { grace_period_seconds: 600 } })
    const tab = newTab()
    await tab.signIn(key.secret)
    assert.equal(await later(service(), 9 * MINUTE, () => tab.isIn()), true)
    assert.equal(await later(service(), 11 * MINUTE, () => tab.isIn()), false)
    const late = () => newTab().ask('POST', '/console/session', { body: { key: key.secret } })
    assert.equal((await later(service(), 11 * MINUTE, late)).status, 401)
  })

  test("each sign-in starts a new session and ends the browser's earlier one", async () => {
    const { key, tab } = await signedIn()
    const first = tab.cookie
    await tab.signIn(key.secret)
    assert.notEqual(tab.cookie, first)
    assert.equal((await newTab().ask('GET', '/v1/agents', { headers: { Cookie: first } })).status, 401)
    assert.equal(await tab.isIn(), true)
  })

  test('a key with manage can list and end all sessions, other keys only their own', async () => {
    const { key, tab } = await signedIn({ role: 'viewer' })
    const list = async (asking: ConsoleTab) => (await asking.ask('GET', '/v1/console-sessions')).body.data
    const [own, ...others] = await list(tab)
    assert.deepEqual(others, [])
    const { id, created_at: _, last_used_at: __, expires_at: ___, ...shown } = own
    assert.deepEqual(shown, {
      key_id: key.id,
      key_name: 'a key',
      person_id: null,
      person_name: null,
      issuer: null,
      agent_id: null,
      address: '127.0.0.1',
      browser: '',
      current: true,
    })
    const admin = await signedIn()
    assert.ok((await list(admin.tab)).length > 1)
    const another = await signedIn({ role: 'viewer' })
    assert.equal((await another.tab.ask('DELETE', `/v1/console-sessions/${id}`)).status, 404)
    assert.equal((await admin.tab.ask('DELETE', `/v1/console-sessions/${id}`)).status, 200)
    assert.equal((await tab.ask('GET', '/v1/agents')).status, 401)
    assert.equal((await admin.tab.ask('DELETE', `/v1/console-sessions/${id}`)).status, 404)
    const [itself] = await list(another.tab)
    assert.equal((await another.tab.ask('DELETE', `/v1/console-sessions/${itself.id}`)).status, 200)
    assert.equal(await another.tab.isIn(), false)
  })

  test('a session does not get the reply stored for its key and the same Idempotency-Key', async () => {
    const { tab, key } = await signedIn()
    const headers = { 'Idempotency-Key': 'a-link' }
    const made = await service().call('POST', '/v1/console-links', { key: key.secret, body: {}, headers })
    assert.equal(made.status, 201, made.text)
    const { status, body } = await tab.ask('POST', '/v1/console-links', { body: {}, headers })
    assert.equal(status, 403, JSON.stringify(body))
  })

  test('session secrets are never stored, logged or listed', async () => {
    const { tab, key } = await signedIn()
    const link = await asHost(service(), 'POST', '/v1/console-links', { key_id: key.id })
    const secret = tab.cookie.split('=')[1] as string
    const db = storeOf(service())
    const stored = JSON.stringify([
      await db.selectFrom('console_sessions').selectAll().execute(),
      await db.selectFrom('console_links').selectAll().execute(),
      await db.selectFrom('audit_log').selectAll().execute(),
      (await service().call('GET', '/v1/console-sessions')).body,
    ])
    for (const hidden of [secret, link.body.data.token, key.secret]) {
      assert.ok(!stored.includes(hidden) && !service().log().includes(hidden))
    }
  })

  betweenNodes(engine)('a session works on every node, and ends on every node immediately', async () => {
    const other = await service().beside()
    try {
      const { tab, key } = await signedIn()
      const there = new ConsoleTab(() => other, { Host: new URL(service().url).host })
      there.cookie = tab.cookie
      assert.equal(await there.isIn(), true)
      assert.equal(await tab.isIn(), true)
      assert.equal((await other.call('DELETE', `/v1/keys/${key.id}`)).status, 200)
      assert.equal((await there.ask('GET', '/v1/agents')).status, 401)
      await until('this node has heard of it', async () => (await tab.ask('GET', '/v1/agents')).status === 401)
    } finally {
      await other.stop()
    }
  })

  test('only ended sessions and expired links are deleted from the database', async () => {
    const { tab, key } = await signedIn({ role: 'viewer' })
    await asHost(service(), 'POST', '/v1/console-links', { key_id: key.id })
    const storage = storageOf(service())
    const { now } = service()
    const left = async () => {
      const rows = await Promise.all(
        (['console_sessions', 'console_links'] as const).map((table) =>
          storage.db.selectFrom(table).select('key_id').where('key_id', '=', key.id).execute(),
        ),
      )
      return rows.map(({ length }) => length)
    }
    await removeExpired(storage.db, now())
    assert.deepEqual(await left(), [1, 1])
    assert.equal(await tab.isIn(), true)
    await removeExpired(storage.db, now() + 11 * MINUTE)
    assert.deepEqual(await left(), [1, 0])
    await removeExpired(storage.db, now() + 13 * HOUR)
    assert.deepEqual(await left(), [0, 0])
  })

  test("signing in and requests of the console update the key's last_used_at", async () => {
    await withService(engine, async (own) => {
      const { id, secret } = await createKey(own, { role: 'viewer' })
      const lastUsed = async () => (await own.call('GET', `/v1/keys/${id}`)).body.data.last_used_at
      assert.equal(await lastUsed(), null)
      const link = await own.call('POST', '/v1/console-links', { key: secret })
      assert.equal(link.status, 201)
      await own.restart()
      const before = await lastUsed()
      const tab = new ConsoleTab(() => own, { Host: '127.0.0.1:8787' })
      await tab.ask('POST', '/console/session', { body: { link_token: link.body.data.token } })
      assert.equal(await tab.isIn(), true)
      await own.restart()
      assert.ok((await lastUsed()) > before)
    })
  })

  test('sessions survive a restart', async () => {
    await withService(engine, async (own) => {
      const tab = new ConsoleTab(() => own, { Host: '127.0.0.1:8787' })
      await tab.signIn(own.admin)
      await own.restart()
      assert.equal(await tab.isIn(), true)
    })
  })
})
