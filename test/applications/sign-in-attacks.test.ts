import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { enrol } from '../support/clients/mfa.ts'
import { assertRefusal } from '../support/clients/refusal.ts'
import { until } from '../support/running/until.ts'
import { ANY_ENGINE, type Service, startService } from '../support/service/service.ts'
import {
  askToken,
  authorizeUrl,
  type ClientHost,
  ConsentBrowser,
  callMcp,
  connectApplication,
  exchange,
  REDIRECT_URI,
  refresh,
  signInSettings,
  startClientHost,
} from '../support/slices/applications.ts'
import { approver, refundingAgent, startTill } from '../support/slices/approvals.ts'
import { createAgent, createKey } from '../support/slices/resources.ts'

const LOCAL_REDIRECT = 'http://127.0.0.1/callback'

for (const engine of ANY_ENGINE) {
  describe(`attacks on the sign-in of applications on ${engine}`, () => {
    let service: Service
    let host: ClientHost
    let client_id: string
    before(async () => {
      host = await startClientHost()
      client_id = host.publish({ redirect_uris: [REDIRECT_URI, LOCAL_REDIRECT, 'cursor://app/callback'] })
      const { settings, outgoing } = await signInSettings()
      service = await startService(engine, settings, outgoing)
      await createAgent(service, 'harbour')
    })
    after(async () => {
      await service.stop()
      await host.close()
    })

    const newBrowser = () => new ConsentBrowser(() => service)
    const newKey = (fields: object = {}) => createKey(service, { name: 'ann', role: 'caller', ...fields })
    /** A code that a person has allowed. */
    const codeFor = async (key: string, more: Record<string, string> = {}) => {
      const asked = authorizeUrl(service, client_id, more)
      const back = await newBrowser().allow(asked.url, key)
      return { asked, back, code: back.searchParams.get('code') ?? '' }
    }
    const assertUnled = async (more: Record<string, string | null>, because: RegExp, id = client_id) => {
      const page = await newBrowser().open(authorizeUrl(service, id, more).url)
      assert.deepEqual([page.status, page.left], [400, undefined], page.text)
      assert.match(page.text, because)
    }

    test('a request with a mistake leads nowhere: no browser is sent to a URL that a stranger has chosen', async () => {
      const elsewhere = 'https://evil.test/callback'
      for (const [more, because] of [
        [{ redirect_uri: elsewhere }, /redirect_uri/],
        [{ redirect_uri: `${REDIRECT_URI}/../evil` }, /redirect_uri/],
        [{ redirect_uri: `${REDIRECT_URI}?next=${elsewhere}` }, /redirect_uri/],
        [{ redirect_uri: 'https://client.test@evil.test/callback' }, /redirect_uri/],
        [{ redirect_uri: 'http://127.0.0.1:8080/other' }, /redirect_uri/],
        [{ redirect_uri: 'http://localhost:8080/callback' }, /redirect_uri/],
        [{ redirect_uri: 'http://127.0.0.1:80@evil.test/callback' }, /redirect_uri/],
        [{ redirect_uri: null }, /redirect_uri/],
        [{ code_challenge_method: 'plain' }, /PKCE/],
        [{ code_challenge_method: null }, /PKCE/],
        [{ code_challenge: null }, /PKCE/],
        [{ code_challenge: 'short' }, /PKCE/],
        [{ response_type: 'token' }, /response_type/],
        [{ response_mode: 'fragment' }, /response_mode/],
        [{ request_uri: elsewhere }, /request_uri/],
        [{ resource: null }, /resource/],
        [{ resource: 'https://evil.test/v1/mcp' }, /resource/],
        [{ resource: `${service.url}/v1/agents` }, /resource/],
        [{ resource: `${service.url}/v1/mcp?x=1` }, /resource/],
        [{ state: 'x'.repeat(513) }, /state/],
        [{ client_id: 'not a URL' }, /client_id/],
      ] as const)
        await assertUnled(more, because)
      const { url } = authorizeUrl(service, client_id)
      const twice = await newBrowser().open(`${url}&redirect_uri=${encodeURIComponent(elsewhere)}`)
      assert.deepEqual([twice.status, twice.left], [400, undefined])
      const failed = service.log().match(/"path":"\/oauth\/authorize[^"]*/g) ?? []
      assert.ok(
        failed.every((path) => !path.includes('?')),
        'the log has no query',
      )
    })

    test("a client's document must be its own, small, plain JSON, and without a secret", async () => {
      const answer = (path: string, given: { status?: number; headers?: Record<string, string>; body: string }) => {
        host.answers.set(path, given)
        return host.url + path
      }
      const document = JSON.stringify({ client_id: `${host.url}/big.json`, redirect_uris: [REDIRECT_URI] })
      for (const [id, because] of [
        [host.publish({ client_id }), /another client_id/],
        [host.publish({ redirect_uris: [] }), /not valid/],
        [host.publish({ client_secret: 'known to all' }), /not valid/],
        [host.publish({ token_endpoint_auth_method: 'client_secret_basic' }), /secret/],
        [host.publish({ grant_types: ['client_credentials'] }), /authorization code/],
        [answer('/html', { headers: { 'Content-Type': 'text/html' }, body: '{}' }), /be read/],
        [answer('/moved', { status: 302, headers: { Location: client_id }, body: '' }), /be read/],
        [answer('/big.json', { body: document.padEnd(20_000) }), /be read/],
        [answer('/none', { status: 404, body: '' }), /be read/],
        [`${host.url}/`, /client_id/],
        [`${client_id}#part`, /client_id/],
        [client_id.replace('https://', 'https://user@'), /client_id/],
        [client_id.replace('/client', '/x/../client'), /client_id/],
        ['ftp://client.test/x', /client_id/],
        // The guard refuses these, and a stranger doesn't learn why.
        ['https://169.254.169.254/latest/meta-data', /be read/],
        ['https://10.0.0.1/client.json', /be read/],
        [`http://[::1]:${new URL(service.url).port}/healthz`, /be read/],
      ] as const)
        await assertUnled({}, because, id)
      for (const redirect_uri of [
        'javascript:alert(1)//',
        'data:text/html,x',
        'http://evil.test/callback',
        'https://ann:secret@evil.test/callback',
        'https://evil.test/callback#part',
        'http://127.0.0.1.evil.test/callback',
      ])
        await assertUnled({ redirect_uri }, /redirect_uri/, host.publish({ redirect_uris: [redirect_uri] }))
      const asked = host.asked.length
      await newBrowser().open(authorizeUrl(service, client_id).url)
      assert.equal(host.asked.length, asked, 'a known client is not asked again')
    })

    test('a name cannot imitate the page, and the page says where access goes', async () => {
      const id = host.publish({ client_name: '\u202eClaude\n<script>alert(1)</script>' })
      const { text, headers } = await newBrowser().open(authorizeUrl(service, id).url)
      assert.ok(!text.includes('<script>') && !text.includes('\u202e'))
      assert.match(headers.get('content-security-policy') ?? '', /default-src 'none'.*frame-ancestors 'none'/)
      assert.equal(headers.get('x-frame-options'), 'DENY')
      const { secret } = await newKey()
      for (const [redirect_uri, warning, target] of [
        ['http://127.0.0.1:51234/callback', /program on your computer/, "form-action 'self' http://127.0.0.1:51234;"],
        ['cursor://app/callback', /opens <code>cursor:<\/code> links/, "form-action 'self' cursor:;"],
        [REDIRECT_URI, /Access is given to <strong>client.test/, "form-action 'self' https://client.test;"],
      ] as const) {
        const browser = newBrowser()
        await browser.open(authorizeUrl(service, client_id, { redirect_uri }).url)
        const page = await browser.submit({ key: secret })
        assert.match(page.text, warning)
        assert.ok(page.headers.get('content-security-policy')?.includes(target))
        const { left = '' } = await browser.submit({ decision: 'allow' })
        assert.ok(left.startsWith(`${redirect_uri}?code=mrgac_`), left)
      }
    })

    test('an answer names this service and has the state, and a refusal has no code', async () => {
      const { secret } = await newKey()
      const { back } = await codeFor(secret)
      assert.deepEqual([...back.searchParams.keys()], ['code', 'state', 'iss'])
      assert.equal(back.searchParams.get('iss'), service.url)
      assert.equal(back.searchParams.get('state'), 'a-state-of-the-client')
      const browser = newBrowser()
      await browser.open(authorizeUrl(service, client_id).url)
      await browser.submit({ key: secret })
      const { left = '' } = await browser.submit({ decision: 'deny' })
      const { searchParams } = new URL(left)
      assert.deepEqual([searchParams.get('error'), searchParams.get('code')], ['access_denied', null])
    })

    test('a code is worth nothing without its verifier, and is spent by whoever tries', async () => {
      const { secret } = await newKey()
      const wrong: [string, (one: Awaited<ReturnType<typeof codeFor>>) => Promise<{ error?: string }>][] = [
        ['no verifier', ({ asked, code }) => exchange(service, { ...asked, verifier: '' }, code)],
        ["a thief's verifier", ({ code }) => exchange(service, authorizeUrl(service, client_id), code)],
        ['another client', ({ asked, code }) => exchange(service, { ...asked, client_id: `${client_id}x` }, code)],
        ['another URL', ({ asked, code }) => exchange(service, asked, code, { redirect_uri: LOCAL_REDIRECT })],
        [
          'another audience',
          ({ asked, code }) => exchange(service, asked, code, { resource: 'https://evil.test/mcp' }),
        ],
      ]
      for (const [what, attack] of wrong) {
        const one = await codeFor(secret)
        const reply = await attack(one)
        const expected = { 'no verifier': 'invalid_request', 'another audience': 'invalid_target' }[what]
        assert.equal(reply.error, expected ?? 'invalid_grant', what)
        const honest = await exchange(service, one.asked, one.code)
        assert.equal(honest.status, what === 'no verifier' ? 200 : 400, what)
      }
    })

    test('a code works once and for a minute; a second use ends what the first one got', async () => {
      const { secret } = await newKey()
      const late = await codeFor(secret)
      service.advance(61_000)
      assert.equal((await exchange(service, late.asked, late.code)).error, 'invalid_grant')
      const { asked, code } = await codeFor(secret)
      const given = await exchange(service, asked, code)
      assert.equal((await callMcp(service, given.access_token)).status, 200)
      assert.equal((await exchange(service, asked, code)).error, 'invalid_grant')
      assert.equal((await callMcp(service, given.access_token)).status, 401)
      assert.equal((await refresh(service, client_id, given.refresh_token)).error, 'invalid_grant')
      const raced = await codeFor(secret)
      const both = await Promise.all([1, 2].map(() => exchange(service, raced.asked, raced.code)))
      assert.deepEqual(both.map(({ status }) => status).toSorted(), [200, 400])
      const won = both.find(({ status }) => status === 200)?.access_token ?? ''
      assert.equal((await callMcp(service, won)).status, 401)
    })

    test('tokens are exchanged only as they were issued', async () => {
      const { secret } = await newKey()
      const { access_token, refresh_token } = await connectApplication(service, client_id, { key: secret })
      assert.equal((await refresh(service, `${client_id}x`, refresh_token)).error, 'invalid_grant')
      assert.equal((await refresh(service, client_id, access_token)).error, 'invalid_grant')
      const resource = `${service.url}/v1/agents/harbour/mcp`
      assert.equal((await refresh(service, client_id, refresh_token, { resource })).error, 'invalid_target')
      const form = { client_id, grant_type: 'client_credentials' }
      assert.equal((await askToken(service, form)).error, 'unsupported_grant_type')
      assert.equal((await askToken(service, { client_id })).error, 'invalid_request')
      assert.equal((await callMcp(service, refresh_token)).status, 401)
      assert.equal((await refresh(service, client_id, refresh_token)).status, 200, 'none of this has spent it')
    })

    test('only the page of this service can decide, for the session for which it was shown', async () => {
      const [ann, eve] = [await newKey(), await newKey()]
      const browser = newBrowser()
      const shown = async () => {
        await browser.open(authorizeUrl(service, client_id).url)
        if (browser.page.text.includes('name="key"')) await browser.submit({ key: ann.secret })
        const [, request = ''] = /name="request" value="([^"]+)"/.exec(browser.page.text) ?? []
        const [, form = ''] = /name="form" value="([^"]+)"/.exec(browser.page.text) ?? []
        return { request, form, decision: 'allow' }
      }
      const form = await shown()
      const post = (fields: Record<string, string>, site = 'same-origin', by = browser) =>
        by.open(`${service.url}/oauth/consent`, { site, form: fields })
      const crossSite = await post(form, 'cross-site')
      assert.deepEqual([crossSite.status, crossSite.left], [403, undefined])
      for (const forged of ['', 'x', `${form.form}x`]) {
        const page = await post({ ...form, form: forged })
        assert.deepEqual([page.status, page.left], [409, undefined])
      }
      // A request belongs to the browser that began it.
      assert.equal((await post(form, 'same-origin', newBrowser())).status, 400)
      // Two tabs: the form of one isn't accepted for the request of the other.
      const other = await shown()
      assert.equal((await post({ ...other, form: form.form })).status, 409)
      // Somebody else signs in meanwhile: what Ann saw isn't allowed in Eve's name.
      await browser.open(`/oauth/consent?request=${form.request}&as=other`, { site: 'same-origin' })
      await browser.submit({ key: eve.secret })
      assert.equal((await post(form)).status, 409)
      // Both tabs end with a code of their own.
      for (const { request } of [form, other]) {
        await browser.open(`/oauth/consent?request=${request}`, { site: 'same-origin' })
        const { left = '' } = await browser.submit({ decision: 'allow' })
        assert.match(left, /code=mrgac_/)
      }
      const login = await browser.open('/oauth/sign-in', {
        site: 'cross-site',
        form: { request: form.request, key: eve.secret },
      })
      assert.equal(login.status, 403)
    })

    test('a browser with many sign-ins in progress keeps only the latest, so that its requests stay small', async () => {
      const browser = newBrowser()
      for (let opened = 0; opened < 6; opened++) await browser.open(authorizeUrl(service, client_id).url)
      const kept = [...browser.cookies.keys()].filter((name) => name.startsWith('moorage-authorize'))
      assert.ok(kept.length < 5, String(kept))
      assert.match(browser.page.text, /name="key"/)
    })

    test('whoever allowed an application cannot approve what it asks for', async (t) => {
      const till = await startTill()
      t.after(() => till.close())
      const agent = await createAgent(service, 'till', refundingAgent(till))
      const { access_token } = await connectApplication(service, client_id)
      const call = { name: 'till', arguments: { message: 'A-1' } }
      const { body } = await callMcp(service, access_token, { method: 'tools/call', params: call })
      const { request_id } = body.result.structuredContent
      const [{ call_id }] = (await service.call('GET', `/v1/approvals?request_id=${request_id}`)).body.data
      const path = `/v1/agents/${agent}/invocations/${request_id}/approvals/${call_id}`
      const decide = (key: string) => service.call('POST', path, { key, body: { decision: 'approve' } })
      assertRefusal(await decide(service.admin), 403, 'forbidden')
      assert.equal((await decide(await approver(service))).status, 200)
    })

    test('a restart at any moment loses nothing', async () => {
      const { secret } = await newKey()
      const asked = authorizeUrl(service, client_id)
      const browser = newBrowser()
      await browser.open(asked.url)
      await service.restart()
      await browser.submit({ key: secret })
      const { left = '' } = await browser.submit({ decision: 'allow' })
      await service.restart()
      const given = await exchange(service, asked, new URL(left).searchParams.get('code') ?? '')
      const fresh = await refresh(service, client_id, given.refresh_token)
      assert.equal((await callMcp(service, fresh.access_token)).status, 200)
    })

    test('a session that has ended, or a right that was lost, gives no code', async () => {
      const signer = await newKey({ permissions: ['read', 'invoke'], role: undefined })
      const asked = authorizeUrl(service, client_id)
      const browser = newBrowser()
      await browser.open(asked.url)
      await browser.submit({ key: signer.secret })
      const [session] = (await service.call('GET', `/v1/console-sessions?key_id=${signer.id}`)).body.data
      await service.call('DELETE', `/v1/console-sessions/${session.id}`)
      const ended = await browser.submit({ decision: 'allow' })
      assert.deepEqual([ended.status, ended.left], [401, undefined])
      assert.match(ended.text, /name="key"/)
      assert.equal((await browser.submit({ key: `${signer.secret}x` })).status, 401)
      await until('the refused sign-in in the audit log', async () => {
        const { body } = await service.call('GET', '/v1/audit-log?outcome=refused&action=signIn')
        return body.data.some(({ code }: { code: string }) => code === 'unauthorized')
      })
      await browser.submit({ key: signer.secret })
      const { left = '' } = await browser.submit({ decision: 'allow' })
      // The key is revoked between the code and the tokens.
      await service.call('DELETE', `/v1/keys/${signer.id}`)
      const code = new URL(left).searchParams.get('code') ?? ''
      assert.equal((await exchange(service, asked, code)).error, 'invalid_grant')

      const viewer = await newKey({ role: 'viewer' })
      await newBrowser().open(asked.url)
      const reader = newBrowser()
      await reader.open(asked.url)
      await reader.submit({ key: viewer.secret })
      const unable = await reader.submit({ decision: 'allow' })
      assert.deepEqual([unable.status, unable.left], [403, undefined])
    })

    test('a key of one agent or project gives access to nothing else', async () => {
      const other = await createAgent(service, 'other')
      const narrow = await newKey({ agent_id: other })
      const { access_token } = await connectApplication(service, client_id, { key: narrow.secret })
      const { body } = await callMcp(service, access_token)
      assert.deepEqual(
        body.result.tools.map(({ name }: { name: string }) => name),
        ['other'],
      )
      const browser = newBrowser()
      await browser.open(authorizeUrl(service, client_id, { resource: `${service.url}/v1/agents/harbour/mcp` }).url)
      await browser.submit({ key: narrow.secret })
      assert.equal((await browser.submit({ decision: 'allow' })).status, 403)
      await service.call('POST', '/v1/projects', { body: { name: 'far' } })
      await browser.open(authorizeUrl(service, client_id).url)
      const { body: projects } = await service.call('GET', '/v1/projects')
      const far = projects.data.find(({ name }: { name: string }) => name === 'far').id
      assert.equal((await browser.submit({ decision: 'allow', project: far })).status, 403)
      // Someone with access to all projects chooses one.
      const admin = newBrowser()
      const asked = authorizeUrl(service, client_id)
      await admin.open(asked.url)
      await admin.submit({ key: service.admin })
      const { left = '' } = await admin.submit({ decision: 'allow', project: far })
      const given = await exchange(service, asked, new URL(left).searchParams.get('code') ?? '')
      assert.deepEqual((await callMcp(service, given.access_token)).body.result.tools, [])
      const header = await service.call('POST', '/v1/mcp', {
        key: given.access_token,
        headers: { 'Moorage-Project': 'default' },
        body: {},
      })
      assert.equal(header.status, 403)
    })

    test("an agent's own security applies when an application is connected to it", async () => {
      const signer = await newKey()
      const factor = await enrol(service, signer.id)
      const mfa = { enabled: true, requiredFor: ['keys'] }
      const ipWhitelist = { enabled: true, addresses: ['203.0.113.7'] }
      const vault = await createAgent(service, 'vault')
      const narrow = await newKey({ agent_id: vault, name: 'narrow' })
      const guarded = await service.call('PATCH', `/v1/agents/${vault}`, { body: { security: { mfa } } })
      assert.equal(guarded.status, 200, guarded.text)
      await createAgent(service, 'closed', { security: { ipWhitelist } })
      const shown = async (key: string, resource: string) => {
        const browser = newBrowser()
        await browser.open(authorizeUrl(service, client_id, { resource: service.url + resource }).url)
        return { browser, page: await browser.submit({ key }) }
      }
      const { browser, page } = await shown(signer.secret, '/v1/agents/vault/mcp')
      assert.match(page.text, /One-time code/)
      for (const code of ['', '000000']) {
        const { status, left } = await browser.submit({ decision: 'allow', code })
        assert.ok(status >= 400 && left === undefined)
      }
      assert.match(browser.page.text, /One-time code/)
      assert.ok((await browser.submit({ decision: 'allow', code: factor.code() })).left)
      const other = await shown(signer.secret, '/v1/agents/harbour/mcp')
      assert.doesNotMatch(other.page.text, /One-time code/)
      // A key of the agent needs it at every URL.
      const ofAgent = await shown(narrow.secret, '/v1/mcp')
      assert.match(ofAgent.page.text, /One-time code/)
      assert.equal((await ofAgent.browser.submit({ decision: 'allow' })).left, undefined)
      const closed = await shown(signer.secret, '/v1/agents/closed/mcp')
      const refused = await closed.browser.submit({ decision: 'allow' })
      assert.deepEqual([refused.status, refused.left], [403, undefined])
    })

    test('whoever guesses tokens is stopped', async () => {
      const guess = () => refresh(service, client_id, `mrgrt_${'x'.repeat(43)}`)
      const statuses = new Set<number>()
      for (let sent = 0; sent < 400 && !statuses.has(429); sent += 50) {
        for (const { status } of await Promise.all(Array.from({ length: 50 }, guess))) statuses.add(status)
      }
      assert.deepEqual([...statuses], [400, 429])
    })
  })
}

test('a key that needs a second factor to make keys needs it here too', async () => {
  const { settings, outgoing } = await signInSettings()
  const host = await startClientHost()
  const policy = { MOORAGE_SECURITY__MFA__ENABLED: 'true', MOORAGE_SECURITY__MFA__REQUIRED_FOR: 'keys' }
  const service = await startService('sqlite', { ...settings, ...policy }, outgoing)
  try {
    const browser = new ConsentBrowser(() => service)
    await browser.open(authorizeUrl(service, host.publish()).url)
    const page = await browser.submit({ key: service.admin })
    assert.match(page.text, /One-time code/)
    for (const code of ['', '000000']) {
      const { status, left } = await browser.submit({ decision: 'allow', code })
      assert.ok(status >= 400 && left === undefined)
    }
  } finally {
    await service.stop()
    await host.close()
  }
})

test('switched off, which is the default, none of it exists', async () => {
  const service = await startService('sqlite')
  try {
    const root = '/.well-known'
    for (const path of [`${root}/oauth-authorization-server`, `${root}/oauth-protected-resource`, '/oauth/authorize'])
      assert.ok([401, 404].includes((await service.call('GET', path, { key: null })).status), path)
    assert.equal((await fetch(`${service.url}/oauth/token`, { method: 'POST' })).status, 401)
    assert.equal((await service.call('GET', '/v1/connected-applications')).status, 200)
  } finally {
    await service.stop()
  }
})
