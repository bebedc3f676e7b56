import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { METHODS } from 'node:http'
import { after, before, describe, test } from 'node:test'
import { asHost } from '../support/clients/mfa.ts'
import { ConsoleTab } from '../support/console/console-tab.ts'
import { storeOf } from '../support/inside.ts'
import { TLS_SETTINGS, tlsCall } from '../support/outside/tls.ts'
import { until } from '../support/running/until.ts'
import { onAnyEngine, type Service, startService } from '../support/service/service.ts'
import { createAgent, createKey, later } from '../support/slices/resources.ts'

const MINUTE = 60_000
/** What a page of another site can send without a preflight. */
const SIMPLE_TYPES = ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', undefined]
const ELSEWHERE = ['cross-site', 'same-site', 'none', 'SAME-ORIGIN', 'same-origin, cross-site', '']

const newSecret = () => randomBytes(32).toString('base64url')

onAnyEngine(
  'the console against attacks',
  (service, engine) => {
    const origin = () => new URL(service().url).origin
    const signedIn = async (body: object = { role: 'admin', tier: 'enterprise' }) => {
      const key = await createKey(service(), body)
      const tab = new ConsoleTab(service)
      await tab.signIn(key.secret)
      return { key, tab }
    }
    const newLink = async (key_id: string): Promise<string> => {
      const { body } = await asHost(service(), 'POST', '/v1/console-links', { key_id })
      return body.data.token
    }
    const useLink = (link_token: string) =>
      new ConsoleTab(service).ask('POST', '/console/session', { body: { link_token } })

    test('fixation: a session secret that someone else chose is never accepted', async () => {
      const tab = new ConsoleTab(service)
      const planted = `moorage-${new URL(service().url).port}=${newSecret()}`
      tab.cookie = planted
      await tab.signIn((await createKey(service(), { role: 'viewer' })).secret)
      assert.notEqual(tab.cookie, planted)
      assert.equal(
        (await new ConsoleTab(service).ask('GET', '/v1/agents', { headers: { Cookie: planted } })).status,
        401,
      )
    })

    test("fixation: signing in over an attacker's session ends that session", async () => {
      const attacker = await signedIn({ role: 'viewer' })
      const victim = new ConsoleTab(service)
      victim.cookie = attacker.tab.cookie
      const { id } = await createKey(service(), { role: 'admin' })
      await victim.ask('POST', '/console/session', { body: { link_token: await newLink(id) } })
      assert.equal((await victim.ask('GET', '/v1/keys/self')).body.data.id, id)
      assert.equal((await attacker.tab.ask('GET', '/v1/keys/self')).status, 401)
    })

    test('a request with two session cookies is refused, whichever comes first', async () => {
      const { tab } = await signedIn()
      const name = tab.cookie.split('=')[0]
      for (const Cookie of [`${tab.cookie}; ${name}=${newSecret()}`, `${name}=${newSecret()}; ${tab.cookie}`]) {
        assert.equal((await tab.ask('GET', '/v1/agents', { headers: { Cookie } })).status, 401)
      }
      const Cookie = `theme=dark; ${tab.cookie}; other=${newSecret()}`
      assert.equal((await tab.ask('GET', '/v1/agents', { headers: { Cookie } })).status, 200, 'others do not matter')
    })

    test("CSRF: another site can't send any method or content type", async () => {
      const { tab } = await signedIn()
      const agent = await createAgent(service(), `wanted-${engine}`)
      const foreign = [
        ...ELSEWHERE.map((site) => ({ 'Sec-Fetch-Site': site })),
        { 'Sec-Fetch-Site': undefined, Origin: 'https://evil.example' },
        { 'Sec-Fetch-Site': undefined, Origin: 'null' },
        { 'Sec-Fetch-Site': undefined, Origin: `${origin()}.evil.example` },
        { 'Sec-Fetch-Site': 'cross-site', Origin: origin() },
      ]
      const methods = METHODS.filter((method) => !['CONNECT', 'HEAD'].includes(method))
      for (const headers of foreign) {
        for (const method of ['GET', 'POST', 'PATCH', 'DELETE']) {
          const { status } = await tab.ask(method, `/v1/agents/${agent}`, { headers })
          assert.equal(status, 401, `${method} ${JSON.stringify(headers)}`)
        }
      }
      for (const method of methods) {
        const headers = { 'Sec-Fetch-Site': 'cross-site' }
        assert.equal((await tab.ask(method, `/v1/agents/${agent}`, { headers })).status, 401, method)
      }
      for (const type of SIMPLE_TYPES) {
        const headers = { 'Sec-Fetch-Site': 'cross-site', 'X-Moorage-Console': undefined, 'Content-Type': type }
        const reply = await tab.ask('POST', `/v1/agents/${agent}/invoke`, { body: '{"message":"x"}', headers })
        assert.equal(reply.status, 401, String(type))
      }
      assert.equal((await service().call('GET', `/v1/agents/${agent}`)).status, 200, 'it is still there')
    })

    test('CSRF: changes require the header X-Moorage-Console, even from the same origin', async () => {
      const { tab } = await signedIn()
      const agent = await createAgent(service(), `kept-${engine}`)
      for (const header of [undefined, '0', 'true', '1, 1']) {
        const headers = { 'X-Moorage-Console': header }
        for (const method of METHODS.filter((name) => !['CONNECT', 'HEAD', 'GET'].includes(name))) {
          const { status } = await tab.ask(method, `/v1/agents/${agent}`, { headers })
          assert.equal(status, 401, `${method} ${header}`)
        }
        assert.equal((await tab.ask('GET', `/v1/agents/${agent}`, { headers })).status, 200)
      }
    })

    test('CSRF: from the same origin, a body must be JSON', async () => {
      const { tab } = await signedIn()
      for (const type of SIMPLE_TYPES.filter((name) => name !== undefined)) {
        const reply = await tab.ask('POST', '/v1/agents/hello/invoke', {
          body: '{"message":"x"}',
          headers: { 'Content-Type': type },
        })
        assert.equal(reply.status, 415, type)
      }
    })

    test('if the browser sends no Sec-Fetch-Site, a matching Origin or the header X-Moorage-Console is required', async () => {
      const { tab } = await signedIn()
      const ask = (headers: Record<string, string | undefined>) =>
        tab.ask('GET', '/v1/agents', { headers: { 'Sec-Fetch-Site': undefined, ...headers } })
      assert.equal((await ask({ Origin: origin() })).status, 200)
      assert.equal((await ask({})).status, 200, 'over plain http browsers say neither')
      assert.equal((await ask({ 'X-Moorage-Console': undefined })).status, 401, 'an image, a script, a form')
      assert.equal((await ask({ Origin: origin().replace('http', 'https') })).status, 401)
    })

    test("other origins can't send the header, because their preflight is refused", async () => {
      const preflight = {
        Origin: 'https://evil.example',
        'Access-Control-Request-Method': 'POST',
        'Access-Control-Request-Headers': 'x-moorage-console, content-type',
      }
      for (const path of ['/v1/agents', '/console/session']) {
        const { headers } = await new ConsoleTab(service).ask('OPTIONS', path, { headers: preflight })
        const granted = [...headers.keys()].filter((name) => name.startsWith('access-control-'))
        assert.deepEqual(granted, [])
      }
    })

    test("login CSRF: another site can't sign a browser in or out", async () => {
      const { tab, key } = await signedIn()
      const body = { key: key.secret }
      for (const headers of [
        { 'Sec-Fetch-Site': 'cross-site' },
        { 'X-Moorage-Console': undefined },
        { 'Sec-Fetch-Site': undefined, Origin: 'https://evil.example' },
      ]) {
        const tries = [
          await tab.ask('POST', '/console/session', { body, headers }),
          await tab.ask('DELETE', '/console/session', { headers }),
        ]
        for (const { status, headers: told } of tries) {
          assert.equal(status, 403)
          assert.deepEqual(told.getSetCookie(), [])
        }
      }
      assert.equal(await tab.isIn(), true)
      const shown = await tab.ask('GET', '/console/session', { headers: { 'Sec-Fetch-Site': 'cross-site' } })
      assert.equal(shown.status, 403)
    })

    test('DNS rebinding: under an unknown host name, neither cookie nor sign-in work', async () => {
      const { tab, key } = await signedIn()
      const port = new URL(service().url).port
      for (const host of [
        'evil.example',
        `evil.example:${port}`,
        `localhost.evil.example:${port}`,
        '127.0.0.1.evil.example',
      ]) {
        const headers = {
          Host: host,
          Cookie: tab.cookie.replace(/^moorage-\d+/, `moorage-${/:(\d+)$/.exec(host)?.[1] ?? 80}`),
        }
        assert.equal((await tab.ask('GET', '/v1/agents', { headers })).status, 403, host)
        const replies = [
          await tab.ask('POST', '/console/session', { body: { key: key.secret }, headers }),
          await tab.ask('GET', '/console/session', { headers }),
          await tab.ask('GET', '/', { headers }),
        ]
        for (const { status, body } of replies) {
          assert.equal(status, 403)
          assert.match(body.error.message, /console\.hosts/)
        }
      }
      for (const host of [`localhost:${port}`, `127.0.0.1:${port}`, `[::1]:${port}`, `moorage.localhost:${port}`]) {
        const headers = { Host: host }
        assert.equal((await tab.ask('GET', '/v1/agents', { headers })).status, 200, host)
      }
      assert.equal(
        (await service().call('GET', '/v1/agents', { headers: { Host: 'evil.example' } })).status,
        200,
        'a key is a key',
      )
    })

    test("plain HTTP works only under this machine's own names", async () => {
      const { tab, key } = await signedIn()
      const port = new URL(service().url).port
      const refused = [
        { Host: `192.168.7.7:${port}` },
        { Host: `[2001:db8::1]:${port}` },
        { Host: `127.0.0.1:${port}`, 'X-Forwarded-For': '203.0.113.9' },
        { Host: `127.0.0.1:${port}`, 'X-Forwarded-For': '203.0.113.9', 'X-Forwarded-Proto': 'https' },
      ]
      for (const headers of refused) {
        const replies = [
          await tab.ask('POST', '/console/session', { body: { key: key.secret }, headers }),
          await tab.ask('GET', '/v1/agents', { headers }),
        ]
        for (const { status, body } of replies) assert.deepEqual([status, body.error.code], [403, 'https_required'])
      }
    })

    test('a link works once', async () => {
      const { id } = await createKey(service(), { role: 'admin' })
      const token = await newLink(id)
      const first = await useLink(token)
      assert.equal(first.status, 201)
      assert.equal(first.body.data.key.id, id)
      assert.equal((await useLink(token)).status, 401)
    })

    test('of simultaneous uses of a link one succeeds', async () => {
      const { id } = await createKey(service(), { role: 'viewer' })
      const token = await newLink(id)
      const replies = await Promise.all(Array.from({ length: 8 }, () => useLink(token)))
      assert.deepEqual(replies.map(({ status }) => status).toSorted(), [201, ...Array.from({ length: 7 }, () => 401)])
      const { body } = await service().call('GET', `/v1/console-sessions?key_id=${id}`)
      assert.equal(body.pagination.total, 1)
    })

    test('a link expires after ten minutes, or with its key', async () => {
      const { id } = await createKey(service(), { role: 'viewer' })
      const token = await newLink(id)
      assert.equal((await later(service(), 11 * MINUTE, () => useLink(token))).status, 401)
      const [rotated, revoked] = [await newLink(id), await newLink(id)]
      await service().call('POST', `/v1/keys/${id}/rotate`, { body: {} })
      assert.equal((await useLink(rotated)).status, 401)
      const fresh = await newLink(id)
      await service().call('DELETE', `/v1/keys/${id}`)
      for (const dead of [revoked, fresh]) assert.equal((await useLink(dead)).status, 401)
    })

    test("a key can create a link only for itself, and a session can't create one", async () => {
      const { tab, key } = await signedIn()
      const other = await createKey(service(), { role: 'viewer' })
      const create = (body: object, asking: string) =>
        service().call('POST', '/v1/console-links', { body, key: asking })
      assert.equal((await create({ key_id: other.id }, key.secret)).status, 403)
      assert.equal((await create({ key_id: 'key_of_nobody' }, other.secret)).status, 403)
      const own = await create({}, other.secret)
      assert.equal((await useLink(own.body.data.token)).body.data.key.id, other.id)
      assert.equal((await tab.ask('POST', '/v1/console-links')).status, 403, 'or it would never end')
    })

    test('403 for creating a link with a replaced secret, because the session would outlive it', async () => {
      const { id, secret } = await createKey(service(), { role: 'viewer' })
      const { body } = await service().call('POST', `/v1/keys/${id}/rotate`, { body: { grace_period_seconds: 60 } })
      const create = (key: string) => service().call('POST', '/v1/console-links', { body: {}, key })
      assert.equal((await service().call('GET', '/v1/keys/self', { key: secret })).status, 200)
      assert.equal((await create(secret)).status, 403)
      assert.equal((await create(body.data.secret)).status, 201)
    })

    test("a session's secret can't be used as a key, and its ID can't be used as a secret", async () => {
      const { tab, key } = await signedIn()
      const [name, secret] = tab.cookie.split('=')
      const { body } = await service().call('GET', `/v1/console-sessions?key_id=${key.id}`)
      const { hash } = await storeOf(service())
        .selectFrom('console_sessions')
        .select('hash')
        .where('key_id', '=', key.id)
        .executeTakeFirstOrThrow()
      assert.equal((await service().call('GET', '/v1/agents', { key: secret as string })).status, 401)
      for (const value of [body.data[0].id, hash, hash.slice(0, 43), key.secret, '', '%00', `${secret}x`]) {
        const headers = { Cookie: `${name}=${value}` }
        assert.equal((await tab.ask('GET', '/v1/agents', { headers })).status, 401, value)
      }
    })

    test('a key has at most 20 sessions; the oldest one ends', async () => {
      const { key, tab } = await signedIn({ role: 'viewer', tier: 'enterprise' })
      for (let i = 0; i < 20; i++) await new ConsoleTab(service).signIn(key.secret)
      assert.equal((await service().call('GET', `/v1/console-sessions?key_id=${key.id}`)).body.pagination.total, 20)
      assert.equal(await tab.isIn(), false)
    })

    test("a session's browser name is cut to 200 characters", async () => {
      const key = await createKey(service(), { role: 'viewer' })
      const tab = new ConsoleTab(service, { 'User-Agent': `<script>${'x'.repeat(5_000)}` })
      await tab.signIn(key.secret)
      const { body } = await service().call('GET', `/v1/console-sessions?key_id=${key.id}`)
      assert.equal(body.data[0].browser.length, 200)
    })
  },
  { MOORAGE_LIMITS__FAILED_AUTH_PER_MINUTE: '100000' },
)

describe('the console: guessing', () => {
  let service: Service
  before(async () => {
    // The clock is held, so no tries become available meanwhile.
    const time = Date.now()
    service = await startService('sqlite', {}, {}, { now: () => time })
  })
  after(() => service.stop())

  test('30 failed tries a minute from one address, then 429; each is in the audit log', async () => {
    const tab = new ConsoleTab(() => service)
    const statuses: number[] = []
    for (let i = 0; i < 32; i++) {
      const body = i % 2 === 0 ? { key: 'mrg_guess' } : { link_token: newSecret() }
      statuses.push((await tab.ask('POST', '/console/session', { body })).status)
    }
    assert.deepEqual(statuses, [...Array.from({ length: 30 }, () => 401), 429, 429])
    const guessed = { Cookie: `moorage-${new URL(service.url).port}=${newSecret()}` }
    assert.equal((await tab.ask('GET', '/console/session', { headers: guessed })).status, 429, 'a guessed secret too')
    assert.equal((await tab.ask('GET', '/console/session')).status, 200, 'who has none asks freely')
    const { data } = await until('both kinds are written', async () => {
      const { body } = await service.call('GET', '/v1/audit-log?action=signIn')
      return body.data.length > 1 && body
    })
    const told = data.map(({ outcome, code, actor, address }: Record<string, string>) => ({
      outcome,
      code,
      actor,
      address,
    }))
    // Entries are collected by the minute, and one may have begun meanwhile.
    assert.deepEqual(
      new Set(told.map((entry: object) => JSON.stringify(entry))),
      new Set(
        ['rate_limited', 'unauthorized'].map((code) =>
          JSON.stringify({ outcome: 'refused', code, actor: null, address: '127.0.0.1' }),
        ),
      ),
    )
  })
})

describe('the console over TLS', () => {
  let service: Service
  before(async () => {
    service = await startService('sqlite', TLS_SETTINGS)
  })
  after(() => service.stop())

  const headers = { 'Sec-Fetch-Site': 'same-origin', 'X-Moorage-Console': '1' }
  const signIn = () => tlsCall(service.url, 'POST', '/console/session', { body: { key: service.admin }, headers })

  test('the cookie is Secure and bound to this host', async () => {
    const { status, headers: told } = await signIn()
    assert.equal(status, 201)
    assert.match(told.getSetCookie()[0] ?? '', /^__Host-moorage=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Secure$/)
  })

  test('a cookie without the prefix, which a plain HTTP page or a sibling domain could set, is not accepted', async () => {
    const Cookie = ((await signIn()).headers.getSetCookie()[0] ?? '').split(';')[0] as string
    const ask = async (value: string) =>
      (await tlsCall(service.url, 'GET', '/v1/agents', { headers: { ...headers, Cookie: value } })).status
    assert.equal(await ask(Cookie), 200)
    const secret = Cookie.split('=')[1]
    for (const name of ['moorage', `moorage-${new URL(service.url).port}`, 'moorage-443', '__host-moorage']) {
      assert.equal(await ask(`${name}=${secret}`), 401, name)
    }
  })
})

describe('the console behind a TLS proxy', () => {
  let service: Service
  before(async () => {
    service = await startService('sqlite', {
      MOORAGE_SERVER__TRUSTED_PROXIES: '127.0.0.1',
      MOORAGE_CONSOLE__HOSTS: 'agents.example.com',
    })
  })
  after(() => service.stop())
  const proxied = { Host: 'agents.example.com', 'X-Forwarded-For': '203.0.113.9', 'X-Forwarded-Proto': 'https' }

  test("accepts its public host name and the proxy's TLS header", async () => {
    const tab = new ConsoleTab(() => service, proxied)
    await tab.signIn(service.admin)
    assert.match(tab.setCookie, /^__Host-moorage=.*; Secure$/)
    assert.equal(await tab.isIn(), true)
    const { body } = await service.call('GET', '/v1/console-sessions')
    assert.equal(body.data[0].address, '203.0.113.9')
  })

  test('refuses a session that started over TLS in plain HTTP', async () => {
    const tab = new ConsoleTab(() => service, proxied)
    await tab.signIn(service.admin)
    const { host, port } = new URL(service.url)
    const plain = new ConsoleTab(() => service, { Host: host })
    plain.cookie = `moorage-${port}=${tab.cookie.split('=')[1]}`
    assert.equal((await plain.ask('GET', '/v1/agents')).status, 401)
    assert.equal(await tab.isIn(), true)
  })

  test('403 without TLS or under another host name', async () => {
    for (const headers of [
      { ...proxied, 'X-Forwarded-Proto': 'http' },
      { ...proxied, Host: 'other.example.com' },
    ]) {
      const tab = new ConsoleTab(() => service, headers)
      assert.equal((await tab.ask('POST', '/console/session', { body: { key: service.admin } })).status, 403)
    }
  })
})

describe('console.allowInsecure', () => {
  test('allows sign-in over plain HTTP', async () => {
    const service = await startService('sqlite', { MOORAGE_CONSOLE__ALLOW_INSECURE: 'true' })
    try {
      const tab = new ConsoleTab(() => service, { Host: '192.168.7.7:8787' })
      await tab.signIn(service.admin)
      assert.equal(tab.setCookie.includes('Secure'), false)
      assert.equal(await tab.isIn(), true)
    } finally {
      await service.stop()
    }
  })
})

describe('the console beside security.cors', () => {
  test("a page of a listed origin can use a key, but never the person's cookie", async () => {
    const Origin = 'https://app.example'
    const service = await startService('sqlite', { MOORAGE_SECURITY__CORS__ORIGINS: Origin })
    try {
      const tab = new ConsoleTab(() => service)
      await tab.signIn(service.admin)
      const preflight = await tab.ask('OPTIONS', '/v1/agents', {
        headers: {
          Origin,
          'Access-Control-Request-Method': 'GET',
          'Access-Control-Request-Headers': 'x-moorage-console',
        },
      })
      const granted = preflight.headers.get('access-control-allow-headers') ?? ''
      assert.match(granted, /Authorization/)
      assert.doesNotMatch(granted, /x-moorage/i)
      for (const site of ['cross-site', 'same-site', undefined]) {
        const { status, headers } = await tab.ask('GET', '/v1/agents', { headers: { Origin, 'Sec-Fetch-Site': site } })
        assert.equal(status, 401)
        assert.equal(headers.get('access-control-allow-credentials'), null)
      }
    } finally {
      await service.stop()
    }
  })
})
