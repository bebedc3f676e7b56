import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { assertRefusal } from '../support/clients/refusal.ts'
import { PersonTab } from '../support/console/person-tab.ts'
import { rowsOf, wakeJobs } from '../support/inside.ts'
import { type OidcIssuer, startOidcIssuer } from '../support/outside/oidc-issuer.ts'
import { until } from '../support/running/until.ts'
import {
  betweenNodes,
  inProject,
  MANY_NODES,
  type Service,
  STORY_ENGINES,
  startService,
} from '../support/service/service.ts'
import {
  askToken,
  authorizeUrl,
  type ClientHost,
  ConsentBrowser,
  callMcp,
  connectApplication,
  exchange,
  openStream,
  refresh,
  SignInClient,
  signInSettings,
  startClientHost,
} from '../support/slices/applications.ts'
import { createAgent, createKey, idsOf } from '../support/slices/resources.ts'

const PATH = '/v1/connected-applications'
const ROLES = [{ group: 'devs', project: 'default', role: 'developer' }]

for (const engine of STORY_ENGINES) {
  describe(`connected applications on ${engine}`, () => {
    let service: Service
    let host: ClientHost
    let issuer: OidcIssuer
    let client_id: string
    let agent: string
    before(async () => {
      host = await startClientHost()
      issuer = await startOidcIssuer()
      client_id = host.publish()
      const { settings, outgoing } = await signInSettings()
      const oidc = [issuer.entry({ label: 'Corporate login', roles: ROLES })]
      service = await startService(engine, { ...settings, MOORAGE_CONSOLE__OIDC: JSON.stringify(oidc) }, outgoing)
      issuer.serve(service.url)
      agent = await createAgent(service, 'harbour')
    })
    after(async () => {
      await service.stop()
      await Promise.all([host.close(), issuer.close()])
    })

    const signerOf = async (fields: object = { role: 'caller' }) => createKey(service, { name: 'ann', ...fields })
    const listed = async (key: string, query = '') => (await service.call('GET', PATH + query, { key })).body.data
    const status = async (token: string, path?: string) => (await callMcp(service, token, path ? { path } : {})).status
    /** A person signs in with the identity provider and allows an application. */
    const connectAs = async (subject: string) => {
      issuer.next = subject
      const asked = authorizeUrl(service, client_id)
      const browser = new ConsentBrowser(() => service)
      const { text } = await browser.open(asked.url)
      const request = /name="request" value="([^"]+)"/.exec(text)?.[1]
      assert.match(text, /Sign in with Corporate login/)
      const { left = '' } = await browser.open(`/oauth/sign-in/corp?request=${request}`, { site: 'same-origin' })
      const shown = await browser.open(await new PersonTab(() => service).goTo(left))
      assert.match(shown.text, new RegExp(`Signed in as ${subject}@example.com`))
      const { left: back = '' } = await browser.submit({ decision: 'allow' })
      const tokens = await exchange(service, asked, new URL(back).searchParams.get('code') ?? '')
      assert.equal(tokens.status, 200, JSON.stringify(tokens))
      return { ...tokens, browser }
    }

    test('the official client has only the URL: it signs in, lists, calls; revoked, it gets 401 and its stream ends', async () => {
      const signer = await signerOf()
      const browser = new ConsentBrowser(() => service)
      const application = new SignInClient(
        host.publish({ client_name: 'Sails & <b>Oars</b>' }),
        `${service.url}/v1/mcp`,
      )
      const client = await application.connect(async (url) => {
        await browser.open(url)
        assert.match(browser.page.text, /Sails &amp; &lt;b&gt;Oars&lt;\/b&gt;/)
        assert.ok(browser.page.text.includes(`<strong>${new URL(host.url).host}</strong>`))
        return browser.allow(url, signer.secret)
      })
      const { tools } = await client.listTools()
      assert.ok(tools.some(({ name }) => name === 'harbour'))
      const result = await client.callTool({ name: 'harbour', arguments: { message: 'ahoy' } })
      assert.deepEqual(result.content, [{ type: 'text', text: 'ahoy' }])

      const { access_token: token } = application.kept['tokens'] as { access_token: string }
      const stream = await openStream(service, token)
      const [shown] = await listed(signer.secret)
      assert.equal(shown.name, 'Sails & <b>Oars</b>')
      const revoked = await service.call('DELETE', `${PATH}/${shown.id}`, { key: signer.secret })
      assert.deepEqual([revoked.status, revoked.body.data.revoked], [200, true], revoked.text)
      const refused = await callMcp(service, token)
      assert.equal(refused.status, 401)
      await stream.ended
      const document = `${service.url}/.well-known/oauth-protected-resource/v1/mcp`
      assert.equal(refused.headers.get('www-authenticate'), `Bearer realm="moorage", resource_metadata="${document}"`)
      await assert.rejects(client.listTools())
      assert.deepEqual(await listed(signer.secret), [])
      const again = await service.call('DELETE', `${PATH}/${shown.id}`)
      assert.equal(again.body.data.revoked_at, revoked.body.data.revoked_at)
      await client.close()
    })

    test('the documents say where to sign in and what is supported', async () => {
      const root = '/.well-known/oauth-protected-resource'
      for (const [path, resource] of [
        [root, '/v1/mcp'],
        [`${root}/v1/mcp`, '/v1/mcp'],
        [`${root}/v1/agents/harbour/mcp`, '/v1/agents/harbour/mcp'],
      ] as const) {
        const { body } = await service.call('GET', path, { key: null })
        assert.deepEqual(
          [body.resource, body.authorization_servers, body.scopes_supported],
          [service.url + resource, [service.url], ['invoke:agents']],
        )
      }
      const { body } = await service.call('GET', '/.well-known/oauth-authorization-server', { key: null })
      assert.equal(body.issuer, service.url)
      assert.deepEqual(body.code_challenge_methods_supported, ['S256'])
      assert.deepEqual(body.token_endpoint_auth_methods_supported, ['none'])
      assert.ok(body.client_id_metadata_document_supported && body.authorization_response_iss_parameter_supported)
    })

    test('a token works only at the URL for which it is, and never as a key', async () => {
      const { secret } = await signerOf({ role: 'admin' })
      const other = await createAgent(service, 'other')
      const all = (await connectApplication(service, client_id, { key: secret })).access_token
      const resource = `${service.url}/v1/agents/harbour/mcp`
      const one = (await connectApplication(service, client_id, { key: secret, resource })).access_token
      const statuses = async (token: string) =>
        Promise.all(['/v1/mcp', '/v1/agents/harbour/mcp', `/v1/agents/${agent}/mcp`].map((path) => status(token, path)))
      assert.deepEqual(await statuses(all), [200, 401, 401])
      assert.deepEqual(await statuses(one), [401, 200, 401])
      const answer = await callMcp(service, all, {
        method: 'tools/call',
        params: { name: 'other', arguments: { message: 'hi' } },
      })
      assert.equal(answer.body.result.content[0].text, 'hi', answer.text)
      for (const token of [all, one]) {
        for (const [method, path] of [
          ['GET', '/v1/agents'],
          ['GET', '/v1/keys/self'],
          ['GET', PATH],
          ['POST', '/v1/chat/completions'],
          ['POST', `/v1/agents/${other}/invoke`],
          ['POST', '/v1/console-links'],
        ] as const)
          assert.equal(
            (await service.call(method, path, { key: token, ...(method === 'POST' && { body: {} }) })).status,
            401,
          )
      }
    })

    test('its runs belong to whoever signed in, who has only their own conversation', async () => {
      const [ann, bob] = [await signerOf(), await signerOf()]
      const says = async (key: string) => {
        const { access_token } = await connectApplication(service, client_id, { key })
        const params = { name: 'harbour', arguments: { message: `of ${key.slice(-4)}`, session_id: 'same' } }
        return (await callMcp(service, access_token, { method: 'tools/call', params })).body.result.structuredContent
      }
      await Promise.all([says(ann.secret), says(bob.secret)])
      for (const { id } of [ann, bob]) {
        const query = `session_id=same&door=mcp&user_id=${id}`
        const { body } = await service.call('GET', `/v1/agents/${agent}/invocations?${query}`)
        assert.equal(body.pagination.total, 1)
      }
    })

    test('a person sees and revokes their own, an admin all of the project; no other project sees any', async () => {
      const [ann, bob] = [await signerOf(), await signerOf()]
      const mine = await connectApplication(service, client_id, { key: ann.secret })
      await connectApplication(service, client_id, { key: bob.secret })
      const [own] = await listed(ann.secret)
      const { id, created_at: _created, last_used_at: _used, expires_at: _expires, ...rest } = own
      assert.deepEqual(rest, {
        name: 'Harbour Chat',
        client_id,
        redirect_uri: 'https://client.test/callback',
        resource: `${service.url}/v1/mcp`,
        agent_id: null,
        permissions: ['invoke'],
        person_id: null,
        user_id: ann.id,
        created_by: ann.id,
        created_by_name: 'ann',
      })
      const [other] = await listed(bob.secret)
      assertRefusal(await service.call('DELETE', `${PATH}/${other.id}`, { key: ann.secret }), 404, 'not_found')
      const all = await listed(service.admin, '?limit=100')
      assert.ok([id, other.id].every((one) => all.some((shown: { id: string }) => shown.id === one)))
      await service.call('POST', '/v1/projects', { body: { name: 'elsewhere' } })
      const manager = await createKey(inProject(service, 'elsewhere'), { role: 'admin' })
      assert.deepEqual(await listed(manager.secret), [])
      assertRefusal(await service.call('DELETE', `${PATH}/${id}`, { key: manager.secret }), 404, 'not_found')
      const viewer = await createKey(service, { role: 'viewer' })
      assertRefusal(await service.call('GET', PATH, { key: viewer.secret }), 403, 'forbidden')
      // It isn't one of the keys that people manage.
      assert.ok(!idsOf(await service.call('GET', '/v1/keys?limit=100')).includes(id))
      assertRefusal(await service.call('POST', `/v1/keys/${id}/rotate`), 404, 'not_found')
      assert.equal((await service.call('DELETE', `${PATH}/${id}`)).status, 200)
      assert.equal(await status(mine.access_token), 401)
      const { body } = await service.call('GET', '/v1/audit-log?limit=100')
      const told = body.data.filter((entry: { target: string }) => entry.target === id)
      const actions = told.map((entry: { action: string; actor: string }) => [entry.action, entry.actor])
      const admin = (await service.call('GET', '/v1/keys/self')).body.data.id
      assert.deepEqual(actions, [
        ['revokeConnectedApplication', admin],
        ['connectApplication', ann.id],
      ])
    })

    test('each refresh gives new tokens; a refresh token that comes twice ends all of them', async () => {
      const { secret } = await signerOf()
      const first = await connectApplication(service, client_id, { key: secret })
      const second = await refresh(service, client_id, first.refresh_token)
      assert.deepEqual([second.status, second.scope, second.expires_in], [200, 'invoke:agents', 3600])
      assert.deepEqual([await status(first.access_token), await status(second.access_token)], [200, 200])
      const stream = await openStream(service, second.access_token)
      const replayed = await refresh(service, client_id, first.refresh_token)
      assert.deepEqual([replayed.status, replayed.error], [400, 'invalid_grant'])
      assert.deepEqual([await status(first.access_token), await status(second.access_token)], [401, 401])
      await stream.ended
      assert.equal((await refresh(service, client_id, second.refresh_token)).error, 'invalid_grant')
      const { body } = await service.call('GET', '/v1/audit-log?action=endConnectedApplication')
      assert.equal(body.data.length, 1)

      const raced = await connectApplication(service, client_id, { key: secret })
      const both = await Promise.all([1, 2].map(() => refresh(service, client_id, raced.refresh_token)))
      assert.deepEqual(both.map((reply) => reply.status).toSorted(), [200, 400])
      const won = both.find((reply) => reply.status === 200)
      assert.equal(await status(won?.access_token ?? ''), 401)
    })

    test('a client can revoke its own tokens', async () => {
      const { secret } = await signerOf()
      const given = await connectApplication(service, client_id, { key: secret })
      const revoke = (token: string, client = client_id) =>
        askToken(service, { token, client_id: client }, '/oauth/revoke')
      assert.equal((await revoke(given.access_token, host.publish())).status, 200)
      assert.equal(await status(given.access_token), 200, 'another client cannot')
      await revoke(given.access_token)
      assert.equal(await status(given.access_token), 401)
      const fresh = await refresh(service, client_id, given.refresh_token)
      assert.equal(await status(fresh.access_token), 200)
      await revoke(fresh.refresh_token)
      assert.equal(await status(fresh.access_token), 401)
      assert.equal((await revoke('mrgrt_of-nobody')).status, 200)
      assert.deepEqual(await listed(secret), [])
    })

    test('it ends with the key that signed in: revoked, rotated or expired', async () => {
      const expires_at = new Date(service.now() + 600_000).toISOString()
      const [revoked, rotated, brief] = [
        await signerOf(),
        await signerOf(),
        await signerOf({ role: 'caller', expires_at }),
      ]
      const ends = [
        () => service.call('DELETE', `/v1/keys/${revoked.id}`),
        () => service.call('POST', `/v1/keys/${rotated.id}/rotate`, { body: { grace_period_seconds: 600 } }),
        async () => service.advance(601_000),
      ]
      for (const [index, { secret }] of [revoked, rotated, brief].entries()) {
        const given = await connectApplication(service, client_id, { key: secret })
        assert.equal(await status(given.access_token), 200)
        const stream = await openStream(service, given.access_token)
        await ends[index]?.()
        assert.equal(await status(given.access_token), 401)
        await stream.ended
        assert.equal((await refresh(service, client_id, given.refresh_token)).error, 'invalid_grant')
      }
    })

    test('a person signs in with their identity provider; it ends with their role', async () => {
      issuer.accounts.set('eve', { name: 'Eve', email: 'eve@example.com', email_verified: true, groups: ['devs'] })
      const given = await connectAs('eve')
      const shown = (await listed(service.admin, '?limit=100')).find(
        (one: { person_id: string | null }) => one.person_id,
      )
      assert.equal(shown.user_id, shown.person_id)
      assert.equal(shown.created_by_name, 'Eve')
      assert.equal(await status(given.access_token), 200)
      const setRole = (role: string | null) =>
        service.call('PUT', `/v1/people/${shown.person_id}/role`, { body: { role } })
      await setRole('caller')
      assert.equal(await status(given.access_token), 200, 'the role still allows calling')
      const stream = await openStream(service, given.access_token)
      const lost = await setRole('viewer')
      assert.deepEqual(lost.body.data.revoked_keys, [shown.id])
      assert.equal(await status(given.access_token), 401)
      await stream.ended
      assert.equal((await refresh(service, client_id, given.refresh_token)).error, 'invalid_grant')
      // The role of a viewer doesn't allow calling, so nothing can be connected.
      const asked = authorizeUrl(service, client_id)
      await given.browser.open(asked.url)
      const page = await given.browser.submit({ decision: 'allow' })
      assert.equal(page.status, 403)
      assert.equal(page.left, undefined)
    })

    test('a sign-out does not end it; a personal key ends with the role, and so does what was connected with it', async () => {
      issuer.accounts.set('fay', { name: 'Fay', email: 'fay@example.com', email_verified: true, groups: ['devs'] })
      const first = await connectAs('fay')
      const [person] = (await service.call('GET', '/v1/people?email=fay@example.com')).body.data
      const [session] = (await service.call('GET', `/v1/console-sessions?person_id=${person.id}`)).body.data
      await service.call('DELETE', `/v1/console-sessions/${session.id}`)
      assert.equal(await status(first.access_token), 200)
      // The provider is still asked whether the person is in the group.
      const signIns = (await rowsOf(service, 'console_sessions')) as { person_id: string | null; can_confirm: number }[]
      assert.equal(signIns.find(({ person_id }) => person_id === person.id)?.can_confirm, 1)

      const { browser } = await connectAs('fay')
      const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
      const made = await service.call('POST', '/v1/personal-keys', {
        key: null,
        headers: { cookie, 'X-Moorage-Console': '1', 'Sec-Fetch-Site': 'same-origin' },
        body: { name: 'laptop', role: 'developer' },
      })
      assert.equal(made.status, 201, made.text)
      const byKey = await connectApplication(service, client_id, { key: made.body.data.secret })
      const lost = await service.call('PUT', `/v1/people/${person.id}/role`, { body: { role: 'viewer' } })
      assert.equal(lost.body.data.revoked_keys.length, 3, lost.text)
      assert.deepEqual([await status(first.access_token), await status(byKey.access_token)], [401, 401])
    })

    test('nothing that is stored or logged contains a code or a token', async () => {
      const { secret } = await signerOf()
      const asked = authorizeUrl(service, client_id)
      const back = await new ConsentBrowser(() => service).allow(asked.url, secret)
      const code = back.searchParams.get('code') ?? ''
      const { access_token, refresh_token } = await exchange(service, asked, code)
      await callMcp(service, access_token)
      const tables = ['applications', 'refresh_tokens', 'earlier_secrets', 'keys', 'audit_log', 'invocations'] as const
      const rows = JSON.stringify(await Promise.all(tables.map((table) => rowsOf(service, table))))
      for (const hidden of [code, access_token, refresh_token]) {
        assert.match(hidden, /^mrg(?:ac|at|rt)_[\w-]{43}$/)
        assert.ok(!rows.includes(hidden.slice(6)) && !service.log().includes(hidden.slice(6)))
      }
    })

    test('refresh tokens are stored until they expire, and no longer; too many exchanges are refused and spend nothing', async () => {
      const day = 86_400_000
      const { secret } = await signerOf()
      const mine = async () => {
        const [{ id }] = await listed(secret)
        const rows = (await rowsOf(service, 'refresh_tokens')) as { application_id: string; used_at: number | null }[]
        return rows.filter((row) => row.application_id === id).map(({ used_at }) => used_at !== null)
      }
      const first = await connectApplication(service, client_id, { key: secret })
      service.advance(20 * day)
      const second = await refresh(service, client_id, first.refresh_token)
      assert.deepEqual((await mine()).toSorted(), [false, true], 'a second use would be noticed')
      service.advance(11 * day)
      const third = await refresh(service, client_id, second.refresh_token)
      assert.deepEqual((await mine()).toSorted(), [false, true])
      service.advance(25 * day)
      wakeJobs(service)
      await until('the sweep', async () => (await mine()).length === 1)

      let last = third
      for (let sent = 0; sent < 30; sent++) {
        const next = await refresh(service, client_id, last.refresh_token)
        if (next.status === 429) break
        last = next
      }
      const refused = await refresh(service, client_id, last.refresh_token)
      assert.equal(refused.status, 429)
      assert.equal(await status(last.access_token), 200)
      service.advance(60_000)
      assert.equal((await refresh(service, client_id, last.refresh_token)).status, 200)
    })

    test('what was never used to its end is removed', async () => {
      const { secret } = await signerOf()
      const kept = await connectApplication(service, client_id, { key: secret })
      await new ConsentBrowser(() => service).allow(authorizeUrl(service, client_id).url, secret)
      assert.equal((await listed(secret)).length, 1, 'a code that nobody has exchanged is no application')
      service.advance(31 * 86_400_000)
      assert.deepEqual(await listed(secret), [])
      assert.equal((await refresh(service, client_id, kept.refresh_token)).error, 'invalid_grant')
      wakeJobs(service)
      await until('the sweep', async () => (await rowsOf(service, 'applications')).length === 0)
      assert.deepEqual(await rowsOf(service, 'refresh_tokens'), [])
    })
  })
}

for (const engine of MANY_NODES) {
  betweenNodes(engine)(
    'on every node: a code and a token are used once, and a revocation ends the streams',
    async () => {
      const host = await startClientHost()
      const { settings, outgoing } = await signInSettings()
      const here = await startService(engine, settings, outgoing)
      const there = await here.beside({ PORT: '0' })
      try {
        const client_id = host.publish()
        const asked = authorizeUrl(here, client_id)
        const back = await new ConsentBrowser(() => here).allow(asked.url, here.admin)
        const first = await exchange(there, asked, back.searchParams.get('code') ?? '')
        assert.equal(first.status, 200)
        const stream = await openStream(there, first.access_token)
        const [application] = (await here.call('GET', PATH)).body.data
        await here.call('DELETE', `${PATH}/${application.id}`)
        // The connection that a request uses can end together with the access.
        const isRefused = (token: string) =>
          callMcp(there, token).then(
            ({ status }) => status === 401,
            () => false,
          )
        await until('401 on the other node', () => isRefused(first.access_token))
        await stream.ended
        const second = await connectApplication(here, client_id)
        const both = await Promise.all([here, there].map((node) => refresh(node, client_id, second.refresh_token)))
        assert.deepEqual(both.map(({ status }) => status).toSorted(), [200, 400])
        for (const { access_token = '' } of [second, ...both])
          await until('401 for every token', () => isRefused(access_token))
      } finally {
        await there.stop()
        await here.stop()
        await host.close()
      }
    },
  )
}
