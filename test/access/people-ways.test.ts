import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { newShell } from '../support/clients/cli.ts'
import { enrol } from '../support/clients/mfa.ts'
import { PersonTab } from '../support/console/person-tab.ts'
import { wakeJobs } from '../support/inside.ts'
import { type Account, type OidcIssuer, startOidcIssuer } from '../support/outside/oidc-issuer.ts'
import { until } from '../support/running/until.ts'
import { ANY_ENGINE, type Service, startService } from '../support/service/service.ts'
import { withIssuers } from '../support/service/with-issuers.ts'
import { refundingAgent } from '../support/slices/approvals.ts'
import { createAgent } from '../support/slices/resources.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE

const ada: Account = { name: 'Ada', email: 'ada@example.com', email_verified: true, groups: ['all'] }
const VIEWERS = [{ group: 'all', project: 'default', role: 'viewer' }]

for (const engine of ANY_ENGINE) {
  describe(`invitations on ${engine}`, () => {
    let issuer: OidcIssuer
    let service: Service
    before(async () => {
      issuer = await startOidcIssuer()
      const oidc = JSON.stringify([issuer.entry({ emailDomains: ['example.com'] })])
      service = await startService(engine, { MOORAGE_CONSOLE__OIDC: oidc })
      issuer.serve(service.url)
    })
    after(async () => {
      await service.stop()
      await issuer.close()
    })

    const invite = async (body: object) => {
      const reply = await service.call('POST', '/v1/invitations', { body: { role: 'developer', ...body } })
      assert.equal(reply.status, 201, reply.text)
      return reply.body.data as { id: string; token: string }
    }
    const comeWith = (invitation: string, subject: string) =>
      new PersonTab(() => service).signInAs(issuer, subject, { invitation })

    test('a link grants its role once, to the person with that email address', async () => {
      issuer.accounts.set('bea', { name: 'Bea', email: 'Bea@Elsewhere.org', email_verified: true })
      issuer.accounts.set('eve', { name: 'Eve', email: 'eve@example.com', email_verified: true })
      const { id, token } = await invite({ email: 'bea@elsewhere.ORG' })
      assert.equal(await comeWith(token, 'eve'), '/#sign-in-failed=invitation_invalid')
      assert.equal(await new PersonTab(() => service).signInAs(issuer, 'bea'), '/#sign-in-failed=other_domain')
      const tab = new PersonTab(() => service)
      assert.equal(await tab.signInAs(issuer, 'bea', { invitation: token }), '/')
      const { person, permissions } = await tab.session()
      assert.deepEqual([person.role, permissions], ['developer', ['read', 'write']])
      const shown = (await service.call('GET', `/v1/invitations/${id}`)).body.data
      assert.partialDeepStrictEqual(shown, { status: 'accepted', accepted_by: person.id, email: 'bea@elsewhere.org' })
      assert.equal(shown.token, undefined)
      assert.equal(await comeWith(token, 'bea'), '/#sign-in-failed=invitation_invalid')
    })

    test('a link requires a verified email address, and stops working when it expires or is revoked', async () => {
      issuer.accounts.set('cy', { name: 'Cy', email: 'cy@example.com', email_verified: false })
      assert.equal(
        await comeWith((await invite({ email: 'cy@example.com' })).token, 'cy'),
        '/#sign-in-failed=email_not_verified',
      )
      issuer.accounts.set('cy', { name: 'Cy', email: 'cy@example.com', email_verified: true })
      const taken = await invite({ email: 'cy@example.com' })
      assert.equal((await service.call('DELETE', `/v1/invitations/${taken.id}`)).status, 200)
      assert.equal(await comeWith(taken.token, 'cy'), '/#sign-in-failed=invitation_invalid')
      const old = await invite({ email: 'cy@example.com', expires_in_hours: 1 })
      service.advance(HOUR)
      assert.equal((await service.call('GET', `/v1/invitations/${old.id}`)).body.data.status, 'expired')
      assert.equal(await comeWith(old.token, 'cy'), '/#sign-in-failed=invitation_invalid')
    })

    test('a link never removes permissions that the person already has', async () => {
      issuer.accounts.set('dan', { name: 'Dan', email: 'dan@example.com', email_verified: true })
      await comeWith((await invite({ email: 'dan@example.com', role: 'admin' })).token, 'dan')
      const tab = new PersonTab(() => service)
      const { token } = await invite({ email: 'dan@example.com', role: 'viewer' })
      await tab.signInAs(issuer, 'dan', { invitation: token })
      assert.equal((await tab.session()).person.role, 'admin')
    })

    test("people can't invite others with more permissions than they have", async () => {
      const { body } = await service.call('POST', '/v1/keys', {
        body: { name: 'm', permissions: ['manage', 'read'], all_projects: false },
      })
      const key = body.data.secret
      const asked = (more: object) =>
        service.call('POST', '/v1/invitations', { key, body: { email: 'x@example.com', role: 'viewer', ...more } })
      assert.equal((await asked({})).status, 201)
      assert.equal((await asked({ role: 'admin' })).status, 403)
      assert.equal((await asked({ all_projects: true })).status, 403)
      assert.equal((await asked({ role: 'emperor' })).status, 400)
    })
  })

  test(`the operator names the first administrator, and the last administrator can't be removed, on ${engine}`, async () => {
    const issuer = await startOidcIssuer()
    issuer.accounts.set('ada', { ...ada, groups: [] })
    issuer.accounts.set('bob', { name: 'Bob', email: 'bob@example.com', email_verified: true })
    await withIssuers(
      engine,
      [{ issuer, entry: {} }],
      async (service) => {
        const [first, second] = [new PersonTab(() => service), new PersonTab(() => service)]
        assert.equal(await first.signInAs(issuer, 'ada'), '/')
        const { person, reach } = await first.session()
        assert.deepEqual([person.role, reach], ['admin', 'service'])
        assert.equal(await second.signInAs(issuer, 'bob'), '/#sign-in-failed=no_role')

        const { body } = await service.call('GET', '/v1/keys/self')
        assert.equal((await first.ask('DELETE', `/v1/keys/${body.data.id}`)).status, 200, 'a person administers now')
        const everywhere = { body: { role: null, all_projects: true } }
        const resign = () => first.ask('PUT', `/v1/people/${person.id}/role`, everywhere)
        assert.equal((await resign()).status, 409)
        assert.equal((await first.ask('DELETE', `/v1/people/${person.id}`)).status, 409)
        const lesser = { body: { role: 'viewer', all_projects: true } }
        assert.equal((await first.ask('PUT', `/v1/people/${person.id}/role`, lesser)).status, 409)

        const [bob] = (await first.ask('GET', '/v1/people?email=bob@example.com')).body.data
        const promote = { body: { role: 'admin', all_projects: true } }
        assert.equal((await first.ask('PUT', `/v1/people/${bob.id}/role`, promote)).status, 200)
        assert.equal((await resign()).status, 200)
        assert.equal(await first.isIn(), false)
      },
      { MOORAGE_INIT_PERSON: 'Ada@example.com' },
    )
    await issuer.close()
  })

  test(`the same address at two providers is two people, unless the operator links them, on ${engine}`, async () => {
    const [corp, partner] = [await startOidcIssuer(), await startOidcIssuer({ name: 'partner' })]
    corp.accounts.set('1', ada)
    partner.accounts.set('1', ada)
    const issuers = [
      { issuer: corp, entry: { roles: VIEWERS } },
      { issuer: partner, entry: { roles: [{ group: 'all', project: 'default', role: 'developer' }] } },
    ]
    const both = async (service: Service) => {
      const [one, two] = [new PersonTab(() => service), new PersonTab(() => service)]
      assert.equal(await one.signInAs(corp, '1'), '/')
      assert.equal(await two.signInAs(partner, '1', {}, 'partner'), '/')
      return [(await one.session()).person, (await two.session()).person]
    }
    await withIssuers(engine, issuers, async (service) => {
      const [one, two] = await both(service)
      assert.notEqual(one.id, two.id)
      assert.deepEqual([one.role, two.role], ['viewer', 'developer'])
    })
    const linking = { MOORAGE_CONSOLE__LINK_VERIFIED_EMAILS: 'true' }
    const link = async (service: Service) => {
      const [one, two] = await both(service)
      assert.equal(one.id, two.id)
      const { body } = await service.call('GET', `/v1/people/${one.id}`)
      assert.equal(body.data.identities.length, 2)
    }
    await withIssuers(engine, issuers, link, linking)
    partner.accounts.set('1', { ...ada, email_verified: false })
    await withIssuers(
      engine,
      issuers,
      async (service) => {
        const [one, two] = await both(service)
        assert.notEqual(one.id, two.id, 'an address that is not verified proves nothing')
        assert.equal((await service.call('DELETE', `/v1/people/${two.id}`)).status, 200)
        partner.accounts.set('1', ada)
        const [, again] = await both(service)
        assert.equal(again.id, two.id, 'who was removed is not taken for another person')
      },
      linking,
    )
    await corp.close()
    await partner.close()
  })

  test(`signing out here signs the person out at the provider, and vice versa, on ${engine}`, async () => {
    const issuer = await startOidcIssuer()
    issuer.accounts.set('ada', ada)
    const issuers = [{ issuer, entry: { roles: VIEWERS }, backchannel: true }]
    await withIssuers(engine, issuers, async (service) => {
      const tab = new PersonTab(() => service)
      await tab.signInAs(issuer, 'ada')
      const { body } = await tab.ask('DELETE', '/console/session')
      assert.equal(body.data.signed_in, false)
      const there = new URL(body.data.sign_out_url)
      assert.equal(there.origin, issuer.url)
      assert.equal(there.searchParams.get('post_logout_redirect_uri'), `${service.url}/`)
      assert.match(there.searchParams.get('id_token_hint') ?? '', /^eyJ/)
      assert.ok(issuer.asked.includes('POST /token/revocation'))

      const [one, two] = [new PersonTab(() => service), new PersonTab(() => service)]
      await one.signInAs(issuer, 'ada')
      await two.signInAs(issuer, 'ada')
      await one.signOutAt(issuer)
      await until('the provider has told the service', async () => !(await one.isIn()))
      assert.equal(await two.isIn(), true, 'another browser, another session there')

      const forged = await fetch(`${service.url}/console/sign-in/corp/logout`, {
        method: 'POST',
        body: new URLSearchParams({ logout_token: 'eyJhbGciOiJub25lIn0.e30.' }),
      })
      assert.equal(forged.status, 400)
      assert.equal(await two.isIn(), true)
    })
    await issuer.close()
  })
}

test('without a refresh token, a session that groups decide ends after ten minutes; others do not', async () => {
  const issuer = await startOidcIssuer({ refresh: false })
  issuer.accounts.set('ada', ada)
  await withIssuers('sqlite', [{ issuer, entry: { roles: VIEWERS } }], async (service) => {
    const tab = new PersonTab(() => service)
    await tab.signInAs(issuer, 'ada')
    service.advance(9 * MINUTE)
    assert.equal(await tab.isIn(), true)
    service.advance(2 * MINUTE)
    assert.equal(await tab.isIn(), false)
  })
  const granted = { MOORAGE_INIT_PERSON: 'ada@example.com' }
  const story = async (service: Service) => {
    const tab = new PersonTab(() => service)
    await tab.signInAs(issuer, 'ada')
    service.advance(50 * MINUTE)
    assert.equal(await tab.isIn(), true)
  }
  await withIssuers('sqlite', [{ issuer, entry: {} }], story, granted)
  await issuer.close()
})

test("the provider's second factor is accepted, and otherwise our one-time code", async () => {
  const issuer = await startOidcIssuer()
  issuer.accounts.set('strong', { ...ada, amr: ['pwd', 'mfa'] })
  issuer.accounts.set('weak', { ...ada, email: 'weak@example.com', amr: ['pwd'] })
  const roles = [{ group: 'all', project: '*', role: 'admin' }]
  const story = async (service: Service) => {
    const [strong, weak] = [new PersonTab(() => service), new PersonTab(() => service)]
    await strong.signInAs(issuer, 'strong')
    await weak.signInAs(issuer, 'weak')
    const create = (tab: PersonTab, headers = {}) =>
      tab.ask('POST', '/v1/keys', { body: { name: 'k', role: 'viewer' }, headers })
    assert.equal((await create(strong)).status, 201)
    const refused = await create(weak)
    assert.deepEqual([refused.status, refused.body.error.code], [401, 'mfa_required'])
    const { id } = (await weak.ask('GET', '/v1/keys/self')).body.data
    const { code } = await enrol(service, id)
    assert.equal((await create(weak, { 'X-Service-OTP': code() })).status, 201)
  }
  const settings = { MOORAGE_SECURITY__MFA__ENABLED: 'true', MOORAGE_SECURITY__MFA__REQUIRED_FOR: 'keys' }
  await withIssuers('sqlite', [{ issuer, entry: { roles } }], story, settings)
  await issuer.close()
})

test("a person's schedules stop when their role ends, and a person can't approve their own run with a second key", async () => {
  const issuer = await startOidcIssuer()
  issuer.accounts.set('ada', ada)
  const roles = [{ group: 'all', project: 'default', role: 'admin' }]
  await withIssuers('sqlite', [{ issuer, entry: { roles } }], async (service) => {
    const tab = new PersonTab(() => service)
    await tab.signInAs(issuer, 'ada')
    const { person } = await tab.session()
    const { body } = await tab.ask('POST', '/v1/agents/hello/schedules', {
      body: { name: 'daily', every: '15m', message: 'hi' },
    })
    await createAgent(service, 'careful', refundingAgent({ url: 'https://till.example.com' }))
    const made = await tab.ask('POST', '/v1/personal-keys', { body: { name: 'mine', role: 'admin' } })
    const asked = await service.call('POST', '/v1/agents/careful/invoke', {
      key: made.body.data.secret,
      body: { message: 'go' },
    })
    assert.equal(asked.status, 202, asked.text)
    const [approval] = (await tab.ask('GET', '/v1/approvals?status=pending')).body.data
    assert.match(approval.not_for_you, /another person/i)

    issuer.accounts.set('ada', { ...ada, groups: [] })
    service.advance(12 * MINUTE)
    await tab.ask('GET', '/v1/agents')
    service.advance(3 * MINUTE)
    wakeJobs(service)
    await until('the schedule is disabled', async () => {
      const { data } = (await service.call('GET', `/v1/agents/hello/schedules/${body.data.id}`)).body
      return !data.enabled
    })
    assert.equal((await service.call('GET', `/v1/people/${person.id}`)).body.data.roles.length, 0)
  })
  await issuer.close()
})

test('a command line signs in through a browser anywhere, and has a key of its person', async () => {
  const issuer = await startOidcIssuer()
  issuer.accounts.set('ada', ada)
  await withIssuers('sqlite', [{ issuer, entry: { roles: VIEWERS } }], async (service) => {
    issuer.next = 'ada'
    const shell = newShell()
    let approving: Promise<void> | undefined
    const { code, stdout, stderr } = await shell.moorage(['login', service.url, '--sso'], {
      stopWhen(_stdout, said) {
        const page = /or open (\S+)/.exec(said)?.[1]
        if (page) approving ??= new PersonTab(() => service).approveDevice(page)
        return false
      },
    })
    await approving
    assert.equal(code, 0, stderr + stdout)
    const who = await shell.moorage(['whoami', '--json'])
    shell.remove()
    const self = JSON.parse(who.stdout)
    assert.partialDeepStrictEqual(self, { kind: 'key', permissions: ['read'] })
    assert.match(self.person_id, /^prs_/)
  })
  await issuer.close()
})

test('a device that polls before the person has signed in gets "wait" or "slow_down", as the provider says', async () => {
  const issuer = await startOidcIssuer()
  issuer.accounts.set('ada', ada)
  issuer.next = 'ada'
  await withIssuers('sqlite', [{ issuer, entry: { roles: VIEWERS } }], async (service) => {
    const begun = await service.call('POST', '/console/devices', { key: null, body: {} })
    const { device, verification_uri_complete } = begun.body.data
    const poll = () => service.call('POST', '/console/devices/key', { key: null, body: { device, name: 'laptop' } })
    const early = await poll()
    assert.deepEqual([early.status, early.body.data], [202, { status: 'wait' }])
    issuer.twist = () => ({ error: 'slow_down' })
    const often = await poll()
    assert.deepEqual([often.status, often.body.data], [202, { status: 'slow_down' }])
    issuer.twist = undefined
    await new PersonTab(() => service).approveDevice(verification_uri_complete)
    assert.equal((await poll()).status, 201)
  })
  await issuer.close()
})
