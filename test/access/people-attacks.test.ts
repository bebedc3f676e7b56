import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PersonTab } from '../support/console/person-tab.ts'
import { wakeJobs } from '../support/inside.ts'
import { newSigningKey, signToken, startIdentityProvider } from '../support/outside/identity-provider.ts'
import type { Account } from '../support/outside/oidc-issuer.ts'
import { ranAgain } from '../support/service/ran-again.ts'
import { ANY_ENGINE, type Reply, type Service } from '../support/service/service.ts'
import { issuerOf, withIssuers } from '../support/service/with-issuers.ts'
import { refundingAgent } from '../support/slices/approvals.ts'
import { createAgent, createKey } from '../support/slices/resources.ts'

type Ask = (method: string, path: string, options?: { body?: unknown }) => Promise<Reply>

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const ada: Account = { name: 'Ada', email: 'ada@example.com', email_verified: true, groups: ['all'] }

for (const engine of ANY_ENGINE) {
  test(`signing in with one provider does not extend the roles that another one gives, on ${engine}`, async (t) => {
    const [corp, partner] = [await issuerOf(t), await issuerOf(t, { name: 'partner' })]
    corp.accounts.set('1', ada)
    partner.accounts.set('1', { ...ada, groups: [] })
    const issuers = [
      { issuer: corp, entry: { roles: [{ group: 'all', project: 'default', role: 'developer' }] } },
      { issuer: partner, entry: {} },
    ]
    await withIssuers(
      engine,
      issuers,
      async (service) => {
        const tab = new PersonTab(() => service)
        await tab.signInAs(corp, '1')
        const { body } = await tab.ask('POST', '/v1/personal-keys', { body: { name: 'laptop', role: 'viewer' } })
        const whether = async () => (await service.call('GET', '/v1/agents', { key: body.data.secret })).status
        await tab.ask('DELETE', '/console/session')
        corp.isDown = true
        for (const days of [3, 3]) {
          service.advance(days * DAY)
          const end = await new PersonTab(() => service).signInAs(partner, '1', {}, 'partner')
          assert.equal(end, '/#sign-in-failed=no_role', 'the role counts for the key only')
          wakeJobs(service)
          assert.equal(await whether(), 200)
        }
        // The partner was always asked less than a week ago.
        await ranAgain(service, 'retention', 2 * DAY)
        assert.equal(await whether(), 401, 'the role has ended, and the key with it')
      },
      { MOORAGE_CONSOLE__LINK_VERIFIED_EMAILS: 'true' },
    )
  })

  test(`a right that expires can't grant roles or create invitations, on ${engine}`, async (t) => {
    const issuer = await issuerOf(t)
    issuer.accounts.set('ada', ada)
    const [tokens, signing] = [await startIdentityProvider(), await newSigningKey('one')]
    t.after(() => tokens.close())
    tokens.keys = [signing.jwk]
    const story = async (service: Service) => {
      assert.equal(await new PersonTab(() => service).signInAs(issuer, 'ada'), '/#sign-in-failed=no_role')
      const [person] = (await service.call('GET', '/v1/people?email=ada@example.com')).body.data
      const giving = (ask: Ask) => ask('PUT', `/v1/people/${person.id}/role`, { body: { role: 'admin' } })
      const inviting = (ask: Ask) =>
        ask('POST', '/v1/invitations', { body: { email: 'x@example.com', role: 'viewer' } })
      const withKey =
        (key: string): Ask =>
        (method, path, options) =>
          service.call(method, path, { ...options, key })
      const expires_at = new Date(Date.now() + DAY).toISOString()
      const expiring = await createKey(service, { role: 'admin', expires_at })
      const replaced = await createKey(service, { role: 'admin' })
      const rotated = await service.call('POST', `/v1/keys/${replaced.id}/rotate`, { body: {} })
      const tab = new PersonTab(() => service)
      await tab.signIn(replaced.secret)
      const exp = Math.floor(Date.now() / 1000) + 600
      const scope = 'read:agents write:agents delete:agents manage:agents'
      const token = await signToken({ iss: tokens.issuer, aud: 'moorage', sub: 'root', exp, scope }, signing)
      const temporary: Record<string, Ask> = {
        'a key that expires': withKey(expiring.secret),
        'a secret that was replaced': withKey(replaced.secret),
        'a session by such a secret': (...asked) => tab.ask(...asked),
        'a token': withKey(token),
      }
      for (const [name, ask] of Object.entries(temporary)) {
        for (const asked of [giving, inviting]) {
          const { status, body } = await asked(ask)
          assert.equal(status, 403, name)
          assert.match(body.error.message, /use a key that does not expire/)
        }
      }
      const outliving = { body: { name: 'k', role: 'admin' } }
      assert.equal((await withKey(replaced.secret)('POST', '/v1/keys', outliving)).status, 403)
      const own = await withKey(replaced.secret)('POST', `/v1/keys/${replaced.id}/rotate`, { body: {} })
      assert.equal(own.status, 403, own.text)
      assert.equal((await giving(withKey(rotated.body.data.secret))).status, 200)
      assert.equal((await inviting(withKey(rotated.body.data.secret))).status, 201)
      const taken = await withKey(expiring.secret)('PUT', `/v1/people/${person.id}/role`, { body: { role: null } })
      assert.equal(taken.status, 200, 'to take a role away needs no more than to manage')
    }
    await withIssuers(engine, [{ issuer, entry: {} }], story, {
      MOORAGE_AUTH__TYPE: 'oauth2',
      MOORAGE_AUTH__PROVIDER: tokens.issuer,
      MOORAGE_AUTH__CLIENT_ID: 'moorage',
    })
  })

  test(`an invitation ends when the role or key of the person who created it ends, on ${engine}`, async (t) => {
    const issuer = await issuerOf(t)
    const story = async (service: Service) => {
      let guests = 0
      const invitedBy = async (ask: Ask) => {
        const email = `g${++guests}@example.com`
        issuer.accounts.set(`g${guests}`, { name: 'Guest', email, email_verified: true })
        const reply = await ask('POST', '/v1/invitations', { body: { email, role: 'developer' } })
        assert.equal(reply.status, 201, reply.text)
        const { id, token } = reply.body.data
        return {
          come: async (subject = `g${guests}`) => {
            const tab = new PersonTab(() => service)
            return { tab, at: await tab.signInAs(issuer, subject, { invitation: token }) }
          },
          status: async () => {
            const { body } = await service.call('GET', `/v1/invitations/${id}`)
            const listed = (await service.call('GET', '/v1/invitations?limit=100')).body.data
            assert.deepEqual(
              listed.find((one: { id: string }) => one.id === id),
              body.data,
            )
            return body.data.status
          },
        }
      }
      const key = await createKey(service, { role: 'admin', tier: 'free' })
      const byKey = (method: string, path: string, options = {}) =>
        service.call(method, path, { ...options, key: key.secret })
      const taken = await invitedBy(byKey)
      const first = await taken.come()
      assert.equal(first.at, '/')
      assert.equal((await first.tab.ask('GET', '/v1/keys/self')).body.data.tier, 'free', 'as who invited')
      const open = await invitedBy(byKey)
      assert.equal(await open.status(), 'pending')
      await service.call('DELETE', `/v1/keys/${key.id}`)
      assert.equal(await open.status(), 'ended')
      assert.equal((await open.come()).at, '/#sign-in-failed=invitation_invalid')
      assert.equal(await taken.status(), 'accepted')

      issuer.accounts.set('ada', ada)
      const admin = new PersonTab(() => service)
      await admin.signInAs(issuer, 'ada')
      const { person } = await admin.session()
      const ofPerson = await invitedBy((...asked) => admin.ask(...asked))
      const smaller = { body: { role: 'viewer', all_projects: true } }
      assert.equal((await service.call('PUT', `/v1/people/${person.id}/role`, smaller)).status, 200)
      assert.equal(await ofPerson.status(), 'ended')
      assert.equal((await ofPerson.come()).at, '/#sign-in-failed=invitation_invalid')
      assert.ok(service.log().includes('invitation_invalid'))
    }
    await withIssuers(engine, [{ issuer, entry: {} }], story, { MOORAGE_INIT_PERSON: 'ada@example.com' })
  })

  test(`a role has at most the tier of the key that grants it, on ${engine}`, async (t) => {
    const issuer = await issuerOf(t)
    issuer.accounts.set('ada', ada)
    await withIssuers(engine, [{ issuer, entry: {} }], async (service) => {
      const tab = new PersonTab(() => service)
      await tab.signInAs(issuer, 'ada')
      const [person] = (await service.call('GET', '/v1/people?email=ada@example.com')).body.data
      const tierBy = async (key: string) => {
        await service.call('PUT', `/v1/people/${person.id}/role`, { key, body: { role: 'viewer' } })
        await tab.signInAs(issuer, 'ada')
        return (await tab.ask('GET', '/v1/keys/self')).body.data.tier
      }
      assert.equal(await tierBy((await createKey(service, { role: 'admin', tier: 'free' })).secret), 'free')
      assert.equal(await tierBy(service.admin), 'pro')
    })
  })

  test(`a removed person who signs in again keeps their ID and can't approve their own earlier runs, on ${engine}`, async (t) => {
    const issuer = await issuerOf(t)
    issuer.accounts.set('ada', ada)
    const roles = [{ group: 'all', project: '*', role: 'admin' }]
    await withIssuers(engine, [{ issuer, entry: { roles } }], async (service) => {
      await createAgent(service, 'careful', refundingAgent({ url: 'https://till.example.com' }))
      const tab = new PersonTab(() => service)
      await tab.signInAs(issuer, 'ada')
      const { person } = await tab.session()
      const { cookie } = tab
      const asked = await tab.ask('POST', '/v1/agents/careful/invoke', { body: { message: 'go' } })
      assert.equal(asked.status, 202, asked.text)
      assert.equal((await tab.ask('DELETE', `/v1/people/${person.id}`)).status, 200)
      assert.equal((await service.call('GET', `/v1/people/${person.id}`)).status, 404)
      assert.deepEqual((await service.call('GET', '/v1/people')).body.data, [])
      const entries = (await service.call('GET', `/v1/audit-log?actor=${person.id}`)).body.data
      assert.deepEqual([...new Set(entries.map((entry: { actor_name: string }) => entry.actor_name))], [person.id])

      const again = new PersonTab(() => service)
      assert.equal(await again.signInAs(issuer, 'ada'), '/')
      assert.equal((await again.session()).person.id, person.id)
      const [approval] = (await again.ask('GET', '/v1/approvals?status=pending')).body.data
      assert.match(approval.not_for_you, /another person/i)
      const decided = await again.ask(
        'POST',
        `/v1/agents/careful/invocations/${approval.request_id}/approvals/${approval.call_id}`,
        {
          body: { decision: 'approve' },
        },
      )
      assert.equal(decided.status, 403, decided.text)
      tab.cookie = cookie
      assert.equal(await tab.isIn(), false, 'the session from before stays over')
    })
  })
}

test('floods of made-up codes and device polls mostly get 429 and rarely reach the provider', async (t) => {
  const issuer = await issuerOf(t)
  const story = async (service: Service) => {
    /** Sends 20 requests at once. Returns how many got 429, and how often the provider was asked. */
    const flood = async (send: () => Promise<{ status: number }>) => {
      issuer.asked.length = 0
      const replies = await Promise.all(Array.from({ length: 20 }, send))
      const refused = replies.filter(({ status }) => status === 429).length
      return { refused, asked: issuer.asked.filter((path) => path === 'POST /token').length }
    }
    const begun = await service.call('POST', '/console/devices', { key: null, body: {} })
    const { device } = begun.body.data
    const poll = () => service.call('POST', '/console/devices/key', { key: null, body: { device, name: 'laptop' } })
    const few = ({ refused, asked }: { refused: number; asked: number }) =>
      assert.ok(asked <= 6 && refused >= 14, `${asked}`)
    few(await flood(poll))

    service.advance(MINUTE)
    const begin = () => new PersonTab(() => service).ask('POST', '/console/sign-in/corp', { body: {} })
    assert.equal((await flood(begin)).refused, 15, 'the way there counts too')

    service.advance(MINUTE)
    const tab = new PersonTab(() => service)
    const { url, attempt } = await tab.begin()
    const state = new URL(url).searchParams.get('state')
    const back = `${service.url}/console/sign-in/corp/callback?code=made-up&state=${state}&iss=${issuer.url}`
    few(await flood(() => new PersonTab(() => service).comeBack(back, attempt)))
  }
  const settings = { MOORAGE_LIMITS__FAILED_AUTH_PER_MINUTE: '5' }
  await withIssuers('sqlite', [{ issuer, entry: {} }], story, settings)
})
