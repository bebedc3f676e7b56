import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import { assertRefusal, fieldsOf } from '../support/clients/refusal.ts'
import { rowsOf } from '../support/inside.ts'
import { type AuthorizationServer, startAuthorizationServer } from '../support/outside/authorization-server.ts'
import { until } from '../support/running/until.ts'
import { newAgent } from '../support/service/agents.ts'
import { onBothEngines } from '../support/service/service.ts'
import { approver, decide, startWaiting, untilStatus } from '../support/slices/approvals.ts'
import { Browser, CONNECTED, connect, PUBLIC_URL, toServer, whoamiAgent } from '../support/slices/connections.ts'
import { createKey } from '../support/slices/resources.ts'

onBothEngines(
  'connections',
  (service) => {
    let server: AuthorizationServer
    let agent: string
    before(async () => {
      server = await startAuthorizationServer()
      await put('desk', toServer(server, { return_origins: ['https://app.test'] }))
      agent = await newAgent(service(), whoamiAgent(server))
    })
    beforeEach(() => {
      server.next = 'ann'
      server.expires_in = 3_600
      server.isDown = false
    })
    after(() => server.close())

    const put = async (name: string, body: object) => {
      const reply = await service().call('PUT', `/v1/connections/${name}`, { body })
      assert.equal(reply.status, 200, reply.text)
      return reply.body.data
    }
    const call = (method: string, path: string, body?: object, key?: string) =>
      service().call(method, `/v1/connections/${path}`, { ...(body && { body }), ...(key && { key }) })
    const ask = (user_id?: string, of = agent) =>
      service().call('POST', `/v1/agents/${of}/invoke`, { body: { message: 'Who am I?', context: { user_id } } })
    const answerTo = async (user_id?: string, of = agent): Promise<string> => {
      const reply = await ask(user_id, of)
      assert.equal(reply.status, 200, reply.text)
      return reply.body.data.response
    }
    const grantOf = async (user_id: string, name = 'desk') => {
      const { body } = await call('GET', `${name}/grants?user_id=${user_id}`)
      return body.data[0]
    }
    /** A link of this user, opened by someone who is signed in to the provider as `as`. */
    const signedIn = async (user_id: string, as = user_id) => {
      const made = await call('POST', 'desk/links', { user_id })
      assert.equal(made.status, 201, made.text)
      server.next = as
      const page = await new Browser(service).signIn(made.body.data.url)
      assert.equal(page.status, 200, page.at.join('\n'))
      return made.body.data.link_id as string
    }

    describe('PUT /v1/connections/{name}', () => {
      test('shows everything except the secret, and keeps it until the client or the provider changes', async () => {
        const body = toServer(server)
        const made = await put('kept', body)
        const { id, created_at: _created, updated_at: _updated, redirect_uri, ...shown } = made
        assert.match(id, /^con_/)
        assert.equal(redirect_uri, `${PUBLIC_URL}/connect/callback/${id}`)
        const { client_secret: _secret, ...told } = body
        const empty = { url: null, authorize_url: null, token_url: null, revoke_url: null, return_origins: [] }
        assert.deepEqual(shown, { ...told, ...empty, name: 'kept', as: 'user', has_client_secret: true })
        const without = { ...told, hosts: ['other.example'] }
        assert.equal((await put('kept', without)).has_client_secret, true)
        assert.equal((await put('kept', { ...without, client_id: 'another' })).has_client_secret, false)
        assert.deepEqual((await call('GET', 'kept')).body.data.hosts, ['other.example'])
        const listed = await service().call('GET', '/v1/connections?sort=name')
        assert.deepEqual(
          listed.body.data.map(({ name }: { name: string }) => name),
          ['desk', 'kept'],
        )
        assert.deepEqual((await call('DELETE', 'kept')).body.data, { name: 'kept', deleted: true })
        assert.equal((await call('GET', 'kept')).status, 404)
      })

      test('400 for what does not belong together, and for URLs inside', async () => {
        for (const [fields, body] of [
          [['url'], { kind: 'mcp' }],
          [['client_id', 'hosts', 'authorize_url', 'token_url'], { kind: 'oauth2' }],
          [['token_url'], toServer(server, { token_url: 'https://x.example' })],
          [['issuer'], toServer(server, { issuer: 'http://10.0.0.1/' })],
          [['url'], { kind: 'mcp', url: 'http://169.254.169.254/mcp' }],
          [['return_origins.0'], toServer(server, { return_origins: ['https://app.test/path'] })],
          [['scopes.0'], toServer(server, { scopes: ['a b'] })],
          [['name'], toServer(server)],
        ] as const) {
          const reply = await call('PUT', fields[0] === 'name' ? '1st' : 'bad', body)
          assert.equal(reply.status, 400, reply.text)
          assert.deepEqual(fieldsOf(reply.body), [...fields], reply.text)
        }
      })

      test('only who manages the project may change it', async () => {
        const developer = await createKey(service(), { name: 'developer', role: 'developer' })
        const limited = await createKey(service(), { name: 'limited', permissions: ['manage'], agent_id: agent })
        for (const { secret } of [developer, limited])
          assertRefusal(await call('PUT', 'desk', toServer(server), secret), 403, 'forbidden')
      })
    })

    test('POST /v1/connections/{name}/test finds the provider, checks the client, and tells no secret', async () => {
      const tested = async (name: string) => {
        const { status, body, text } = await call('POST', `${name}/test`)
        assert.equal(status, 200, text)
        for (const secret of ['a-client-secret-0123456789', 'a-wrong-secret'])
          assert.equal(text.includes(secret), false)
        const { duration_ms: _taken, ...shown } = body.data
        return shown
      }
      const earlier = server.given.size
      const found = { issuer: server.url, authorize_url: `${server.url}/authorize`, can_revoke: true, scopes: ['read'] }
      const client = { client: 'given', client_id: 'moorage', warnings: [] }
      assert.deepEqual(await tested('desk'), { ok: true, error: null, ...found, ...client })
      const urls = { issuer: null, authorize_url: `${server.url}/authorize`, token_url: `${server.url}/token` }
      await put('tried', toServer(server, { ...urls, client_secret: 'a-wrong-secret' }))
      const wrong = await tested('tried')
      assert.deepEqual([wrong.ok, wrong.issuer, wrong.can_revoke], [false, null, false])
      assert.match(wrong.error, /Check the client ID and its secret/)
      server.isDown = true
      const down = await tested('desk')
      assert.deepEqual([down.ok, down.issuer], [false, null], 'what was remembered of the provider is not used')
      assert.match(down.error, /could not be read/)
      server.isDown = false
      assert.equal(server.given.size, earlier, 'nobody is signed in')
      const developer = await createKey(service(), { name: 'developer', role: 'developer' })
      assertRefusal(await call('POST', 'desk/test', undefined, developer.secret), 403, 'forbidden')
      assert.equal((await call('POST', 'nothing/test')).status, 404)
      await call('DELETE', 'tried')
    })

    test('a run waits for its user to sign in, goes on when the application confirms it, and sends their token', async () => {
      const { path, approval } = await startWaiting(service(), agent, 'Who am I?', { user_id: 'ann' })
      const { body } = await service().call('GET', approval)
      const { kind, tool, connection } = body.data
      assert.deepEqual([kind, tool, connection.name], ['connection', 'whoami', 'desk'])
      const receipt = await service().call('GET', path)
      assert.equal(receipt.body.data.asks_people, true)
      const page = await new Browser(service).signIn(connection.url)
      assert.equal(page.status, 200)
      const { status } = await grantOf('ann')
      assert.equal(status, 'pending')
      assert.deepEqual(server.called, [], 'nothing is sent before it is confirmed')
      const confirmed = await call('POST', `desk/links/${connection.link_id}/confirm`, { user_id: 'ann' })
      assert.equal(confirmed.body.data.status, 'active', confirmed.text)
      const done = await untilStatus(service(), path, 'completed')
      assert.match(done.response, /^Upstream: you are ann, with Bearer \[secret connection\.desk\]$/)
      assert.deepEqual(
        done.steps.map(({ kind: step }: { kind: string }) => step).filter((step: string) => step !== 'recall'),
        ['model', 'approval', 'tool', 'model'],
      )
      assert.match(await answerTo('ann'), /you are ann/)
      assert.deepEqual(server.called, ['ann', 'ann'])
    })

    test('a call that needs an approval and then a sign-in is found by its ID as what it waits for now', async () => {
      const careful = await newAgent(service(), whoamiAgent(server, 'desk', { approval: 'always' }))
      const { path, approval } = await startWaiting(service(), careful, 'Who am I?', { user_id: 'yan' })
      const shown = async () => {
        const { kind, status } = (await service().call('GET', approval)).body.data
        return `${kind} ${status}`
      }
      assert.equal(await shown(), 'tool pending')
      const decided = await decide(service(), approval, await approver(service()), { decision: 'approve' })
      assert.equal(decided.status, 200, decided.text)
      await until('it waits for the sign-in', async () => (await shown()) === 'connection pending')
      assert.equal((await decide(service(), approval, service().admin, { decision: 'reject' })).status, 200)
      assert.match((await untilStatus(service(), path, 'completed')).response, /The user did not sign in/)
    })

    test("each user's run sends their own token; without a user the model is told; another user's run waits", async () => {
      await connect(service, 'desk', 'ann')
      server.next = 'bob'
      await connect(service, 'desk', 'bob')
      const users = Array.from({ length: 12 }, (_, i) => (i % 2 === 0 ? 'ann' : 'bob'))
      const said = await Promise.all(users.map((user) => answerTo(user)))
      for (const [i, answer] of said.entries()) assert.match(answer, new RegExp(`you are ${users[i]},`))
      assert.match(await answerTo(), /The connection desk acts for a user, and this run has no user/)
      assert.equal((await ask('carol')).status, 202)
    })

    test('rejecting the approval tells the model, and a token goes to no other host', async () => {
      const { path, approval } = await startWaiting(service(), agent, 'Who am I?', { user_id: 'dora' })
      assert.equal((await decide(service(), approval, service().admin, { decision: 'reject' })).status, 200)
      assert.match((await untilStatus(service(), path, 'completed')).response, /The user did not sign in/)
      await put('elsewhere', toServer(server, { hosts: ['api.example.com'] }))
      await connect(service, 'elsewhere', 'ann')
      const earlier = server.called.length
      const other = await newAgent(service(), whoamiAgent(server, 'elsewhere'))
      assert.match(await answerTo('ann', other), /connection elsewhere can't be sent to/)
      assert.equal(server.called.length, earlier)
    })

    test('a schedule for a user without a grant waits for that user; one without a user fails as the model is told', async () => {
      const earlier = server.called.length
      const runOf = async (context: object) => {
        const path = `/v1/agents/${agent}/schedules`
        const made = await service().call('POST', path, { body: { every: '6h', message: 'Who am I?', context } })
        assert.equal(made.status, 201, made.text)
        const started = await service().call('POST', `${path}/${made.body.data.id}/run`)
        assert.ok(started.status < 300, started.text)
        return `/v1/agents/${agent}/invocations/${started.body.data.request_id}`
      }
      const waiting = await runOf({ user_id: 'sue' })
      await untilStatus(service(), waiting, 'waiting')
      const { body } = await service().call('GET', `${waiting}/approvals/call_1`)
      assert.deepEqual([body.data.kind, body.data.user_id, body.data.connection.name], ['connection', 'sue', 'desk'])
      const failed = await untilStatus(service(), await runOf({}), 'completed')
      assert.match(failed.response, /acts for a user, and this run has no user/)
      assert.equal(server.called.length, earlier, "no other user's token is used")
    })

    describe('links', () => {
      test('opened by another person: 403, and nothing is granted; three of them discard the sign-in', async () => {
        const link = await signedIn('eve', 'mallory')
        const confirm = (user_id: string) => call('POST', `desk/links/${link}/confirm`, { user_id })
        for (let tries = 0; tries < 3; tries++) {
          assertRefusal(await confirm('mallory'), 403, 'forbidden')
          if (tries < 2) assert.equal((await grantOf('eve')).status, 'pending')
        }
        assert.equal(await grantOf('eve'), undefined)
        assertRefusal(await confirm('eve'), 409, 'conflict')
        assert.equal((await ask('eve')).status, 202)
      })

      test('one sign-in each, ten minutes, and only in the browser that began it', async () => {
        const made = await call('POST', 'desk/links', { user_id: 'finn' })
        const { url, link_id } = made.body.data
        assertRefusal(await call('POST', `desk/links/${link_id}/confirm`, { user_id: 'finn' }), 409, 'conflict')
        const browser = new Browser(service)
        assert.equal((await browser.open(url)).status, 303, 'a preview')
        const first = await browser.open(url)
        const back = await fetch(first.headers.get('location') ?? '', { redirect: 'manual' })
        const callback = back.headers.get('location') ?? ''
        assert.equal((await new Browser(service).open(callback)).status, 403, 'another browser')
        const mixed = new URL(callback)
        mixed.searchParams.set('iss', 'https://evil.example')
        assert.equal((await browser.open(mixed.href)).status, 409, 'another issuer')
        assert.equal(await grantOf('finn'), undefined)
        assert.equal((await browser.signIn(url)).status, 200)
        assert.equal((await browser.open(url)).status, 409, 'it is spent')
        assert.equal((await new Browser(service).open(`${url}x`)).status, 404)
        const late = await call('POST', 'desk/links', { user_id: 'finn' })
        service().advance(600_001)
        assert.equal((await new Browser(service).open(late.body.data.url)).status, 409)
      })

      test('an answer for another connection is refused', async () => {
        const other = await put('other', toServer(server))
        const made = await call('POST', 'desk/links', { user_id: 'gil' })
        const browser = new Browser(service)
        const first = await browser.open(made.body.data.url)
        const back = await fetch(first.headers.get('location') ?? '', { redirect: 'manual' })
        const [, query] = (back.headers.get('location') ?? '').split('?')
        const asked = server.asked.length
        assert.equal((await browser.open(`${PUBLIC_URL}/connect/callback/${other.id}?${query}`)).status, 409)
        assert.equal(server.asked.length, asked, 'no code is shown to anybody')
      })

      test('leads back to the application, also when the user declines, and to nobody else', async () => {
        const link = (return_to: string) => call('POST', 'desk/links', { user_id: 'hal', return_to })
        for (const evil of [
          'https://evil.test/',
          'https://app.test.evil.test/',
          'https://app.test@evil.test/',
          '//evil.test',
          'https://app.test\\@evil.test/',
          'javascript:alert(1)',
        ])
          assert.deepEqual(fieldsOf((await link(evil)).body), ['return_to'], evil)
        for (const status of ['denied', 'ok']) {
          server.next = status === 'ok' ? 'hal' : undefined
          const made = await link('https://app.test/done?tab=2')
          const { url } = await new Browser(service).signIn(made.body.data.url)
          const told = `tab=2&connection=desk&link_id=${made.body.data.link_id}&status=${status}`
          assert.equal(url, `https://app.test/done?${told}`)
        }
      })

      test("whose they are: a key that only invokes names a user, and a project's own sign-in needs `manage`", async () => {
        const caller = (await createKey(service(), { name: 'chat', role: 'caller' })).secret
        assert.deepEqual(fieldsOf((await call('POST', 'desk/links', {}, caller)).body), ['user_id'])
        assert.deepEqual(fieldsOf((await call('GET', 'desk/grants', undefined, caller)).body), ['user_id'])
        assert.equal((await call('GET', 'desk/grants?user_id=ann', undefined, caller)).status, 200)
        await put('shared', toServer(server, { as: 'service' }))
        assertRefusal(await call('POST', 'shared/links', {}, caller), 403, 'forbidden')
        assert.deepEqual(fieldsOf((await call('POST', 'shared/links', { user_id: 'ann' })).body), ['user_id'])
        const desk = await newAgent(service(), whoamiAgent(server, 'shared'))
        const { path, approval } = await startWaiting(service(), desk, 'Who?', {})
        const shownTo = async (key: string) => (await service().call('GET', approval, { key })).body.data.connection
        const viewer = (await createKey(service(), { name: 'viewer', role: 'viewer' })).secret
        assert.deepEqual(await shownTo(viewer), { name: 'shared', link_id: null, url: null })
        server.next = 'the-bot'
        const { url, link_id } = await shownTo(service().admin)
        assert.equal((await new Browser(service).signIn(url)).status, 200)
        assertRefusal(await call('POST', `shared/links/${link_id}/confirm`, {}, caller), 403, 'forbidden')
        assert.equal((await call('POST', `shared/links/${link_id}/confirm`, {})).body.data.user_id, null)
        assert.match((await untilStatus(service(), path, 'completed')).response, /you are the-bot/)
        assert.equal((await call('DELETE', 'shared/grants/service')).status, 200)
        assert.equal((await ask(undefined, desk)).status, 202)
      })

      test('an approval shows a fresh link when the old one has expired, and a deleted connection ends the wait', async () => {
        await put('brief', toServer(server))
        const brief = await newAgent(service(), whoamiAgent(server, 'brief'))
        const { path, approval } = await startWaiting(service(), brief, 'Who?', { user_id: 'ida' })
        const shown = async () => (await service().call('GET', approval)).body.data.connection
        const { link_id } = await shown()
        assert.equal((await shown()).link_id, link_id)
        service().advance(600_001)
        assert.notEqual((await shown()).link_id, link_id)
        assert.equal((await call('DELETE', 'brief')).status, 200)
        assert.match((await untilStatus(service(), path, 'completed')).response, /connection was deleted/)
      })
    })

    describe('refreshing', () => {
      test('calls at once with an expired token refresh it once; before it expires, and after a 401', async () => {
        server.expires_in = 100
        server.next = 'jon'
        await connect(service, 'desk', 'jon')
        const refreshes = () => server.asked.filter((one) => one.endsWith('refresh_token')).length
        const earlier = refreshes()
        assert.match(await answerTo('jon'), /you are jon/)
        assert.equal(refreshes(), earlier, 'it is fresh')
        service().advance(80_000)
        const said = await Promise.all(Array.from({ length: 10 }, () => answerTo('jon')))
        for (const answer of said) assert.match(answer, /you are jon/)
        assert.equal(refreshes(), earlier + 1)
        server.expireAll()
        assert.match(await answerTo('jon'), /you are jon/)
        assert.equal(refreshes(), earlier + 2)
      })

      test('a provider that is down keeps the grant; only its refusal of the current token ends it', async () => {
        server.expires_in = 100
        server.next = 'kim'
        await connect(service, 'desk', 'kim')
        service().advance(101_000)
        server.isDown = true
        assert.match(await answerTo('kim'), /could not be renewed/)
        assert.equal((await grantOf('kim')).status, 'active')
        server.isDown = false
        assert.match(await answerTo('kim'), /you are kim/)
        server.endGrants('kim')
        service().advance(101_000)
        assert.equal((await ask('kim')).status, 202)
        const { status, ended_reason } = await grantOf('kim')
        assert.deepEqual([status, ended_reason], ['expired', 'invalid_grant'])
      })
    })

    test('revoking ends it here and at the provider; so does erasing the user, and changing the provider ends all', async () => {
      const earlier = server.revoked.length
      for (const user of ['lea', 'max', 'nic']) {
        server.next = user
        await connect(service, 'desk', user)
      }
      assert.equal((await call('DELETE', 'desk/grants/lea')).body.data.revoked, true)
      assert.equal((await call('DELETE', 'desk/grants/lea')).status, 404)
      assert.equal((await grantOf('lea')).status, 'revoked')
      assert.equal(server.revoked.length, earlier + 2)
      const exported = await service().call('GET', '/v1/users/max/export')
      const lines = exported.text
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line))
      assert.deepEqual(
        lines.filter(({ type }) => type === 'grant').map(({ connection, user_id }) => [connection, user_id]),
        [['desk', 'max']],
      )
      const erased = await service().call('DELETE', '/v1/users/max')
      assert.equal(erased.body.data.grants, 1)
      assert.equal(server.revoked.length, earlier + 4)
      assert.equal(await grantOf('max'), undefined)
      await put(
        'desk',
        toServer(server, { hosts: [server.host, 'more.example'], return_origins: ['https://app.test'] }),
      )
      assert.equal((await grantOf('nic')).status, 'active')
      await put('desk', toServer(server, { scopes: ['read', 'write'], return_origins: ['https://app.test'] }))
      assert.equal((await grantOf('nic')).status, 'revoked')
    })

    test('revoking during a refresh takes back the tokens that the refresh brings', async () => {
      server.next = 'pat'
      await connect(service, 'desk', 'pat')
      const earlier = new Set(server.given)
      const [asked, answered] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
      server.holdAnswer = () => {
        asked.resolve()
        return answered.promise
      }
      service().advance(3_600_000)
      const asking = ask('pat')
      await asked.promise
      assert.equal((await call('DELETE', 'desk/grants/pat')).body.data.revoked, true)
      server.holdAnswer = async () => {}
      answered.resolve()
      assert.equal((await asking).status, 202)
      const brought = [...server.given].filter((token) => !earlier.has(token))
      assert.equal(brought.length, 2)
      for (const token of brought) assert.ok(server.revoked.includes(token), token)
    })

    test('what a provider says of a failure is in no log, because it may repeat what it was sent', async () => {
      const from = service().log().length
      const logged = () => service().log().slice(from)
      const sent: string[] = []
      const repeats = (_answer: object, form: string) => {
        sent.push(...['code', 'code_verifier', 'token'].flatMap((name) => new URLSearchParams(form).get(name) ?? []))
        return { error: 'invalid_request', error_description: decodeURIComponent(form) }
      }
      await connect(service, 'desk', 'ivy')
      for (const spoil of [repeats, (answer: object) => ({ ...answer, token_type: 7 })]) {
        server.spoil = spoil
        await assert.rejects(connect(service, 'desk', 'joe'))
      }
      assert.equal(logged().match(/a user could not sign in/g)?.length, 2)
      server.spoil = repeats
      assert.equal((await service().call('DELETE', '/v1/connections/desk/grants/ivy')).status, 200)
      server.spoil = (answer) => answer
      assert.match(logged(), /a token could not be revoked at the provider/)
      assert.equal(sent.length, 3)
      for (const one of [...sent, ...server.given]) assert.ok(!logged().includes(one), one)
    })

    test('tokens are in no table, no log, no event and no reply', async () => {
      const tables = [
        'connection_grants',
        'connections',
        'connection_links',
        'approvals',
        'steps',
        'invocations',
        'logs',
      ]
      const stored = await Promise.all(
        tables.map(async (table) => JSON.stringify(await rowsOf(service(), table as never))),
      )
      const all = [...stored, service().log()].join('\n')
      assert.ok(server.given.size > 20)
      for (const token of server.given) assert.equal(all.includes(token), false)
      assert.equal(all.includes('a-client-secret-0123456789'), false)
    })
  },
  CONNECTED,
)
