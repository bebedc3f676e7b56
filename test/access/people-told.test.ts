import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { PersonTab } from '../support/console/person-tab.ts'
import { wakeJobs } from '../support/inside.ts'
import { newSigningKey } from '../support/outside/identity-provider.ts'
import { startToldIssuer, type ToldIssuer } from '../support/outside/told-issuer.ts'
import { until } from '../support/running/until.ts'
import { ANY_ENGINE, type Service, type Settings, withService } from '../support/service/service.ts'

const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE
const DEVELOPERS = [{ group: 'dev', project: 'default', role: 'developer' }]
const ADA = { sub: 'u-1', name: 'Ada Lovelace', email: 'ada@example.com', email_verified: true, groups: ['dev'] }
const OFFLINE = ['openid', 'profile', 'email', 'offline_access']

for (const engine of ANY_ENGINE) {
  describe(`claims that a provider sends or leaves out, on ${engine}`, () => {
    let issuer: ToldIssuer
    before(async () => {
      issuer = await startToldIssuer()
    })
    after(() => issuer.close())

    const withTold = (entry: object, story: (service: Service) => Promise<void>, settings: Settings = {}) => {
      Object.assign(issuer, { idToken: ADA, refreshed: undefined, userinfo: { sub: ADA.sub }, refusal: undefined })
      issuer.seen = {}
      return withService(engine, story, { MOORAGE_CONSOLE__OIDC: JSON.stringify([issuer.entry(entry)]), ...settings })
    }
    const personOf = async (service: Service) => {
      const { body } = await service.call('GET', '/v1/people')
      const { name, email, email_verified, roles } = body.data[0]
      return { name, email, email_verified, roles: roles.map(({ role }: { role: string }) => role) }
    }
    const invite = async (service: Service, email: string) => {
      const body = { email, role: 'viewer' }
      const made = await service.call('POST', '/v1/invitations', { body })
      assert.equal(made.status, 201, made.text)
      return made.body.data.token as string
    }
    /** A browser and a personal key of a person whose role comes from a group. */
    const personIn = async (service: Service) => {
      const tab = new PersonTab(() => service)
      assert.equal(await issuer.signIn(tab), '/')
      const made = await tab.ask('POST', '/v1/personal-keys', { body: { name: 'laptop', role: 'viewer' } })
      assert.equal(made.status, 201, made.text)
      const key = made.body.data.secret as string
      return { tab, keyStatus: async () => (await service.call('GET', '/v1/keys/self', { key })).status }
    }

    test('an invited person can sign in if only UserInfo contains their email address and name', () =>
      withTold({}, async (service) => {
        const { sub, groups: _groups, ...atUserInfo } = ADA
        Object.assign(issuer, { idToken: { sub }, userinfo: { sub, ...atUserInfo } })
        const invitation = await invite(service, ADA.email)
        assert.equal(await issuer.signIn(new PersonTab(() => service), { invitation }), '/')
        const told = { name: ADA.name, email: ADA.email, email_verified: true, roles: ['viewer'] }
        assert.deepEqual(await personOf(service), told)
      }))

    test('UserInfo is not requested for claims that the ID token contains', () =>
      withTold({ roles: DEVELOPERS }, async (service) => {
        assert.equal(await issuer.signIn(new PersonTab(() => service)), '/')
        assert.equal(issuer.seen['/userinfo'], undefined)
      }))

    test('a refresh that returns only the subject keeps name, email address, role and keys', () =>
      withTold({ roles: DEVELOPERS, keepRoles: '2d' }, async (service) => {
        const { tab, keyStatus } = await personIn(service)
        const known = { name: ADA.name, email: ADA.email, email_verified: true, roles: ['developer'] }
        issuer.refreshed = { sub: ADA.sub }
        service.advance(11 * MINUTE)
        assert.equal(await tab.isIn(), true)
        assert.deepEqual(await personOf(service), known)
        issuer.refreshed = undefined
        service.advance(11 * MINUTE)
        assert.equal(await tab.isIn(), true)
        assert.deepEqual(await personOf(service), known)
        assert.equal(await keyStatus(), 200)

        await until('a role of which nothing is said ends when keepRoles is over', async () => {
          service.advance(2 * DAY)
          wakeJobs(service)
          return (await keyStatus()) === 401
        })
      }))

    test('an empty list of groups ends the role and its keys', () =>
      withTold({ roles: DEVELOPERS }, async (service) => {
        const { tab, keyStatus } = await personIn(service)
        issuer.userinfo = { sub: ADA.sub, groups: [] }
        service.advance(11 * MINUTE)
        assert.equal(await tab.isIn(), false)
        assert.equal(await keyStatus(), 401)
      }))

    test('email_verified applies only to the address it was sent with', () =>
      withTold(
        { roles: DEVELOPERS },
        async (service) => {
          issuer.idToken = { sub: 'mal', email: ADA.email }
          issuer.userinfo = { sub: 'mal', email: 'mal@evil.example', email_verified: true }
          assert.equal(await issuer.signIn(new PersonTab(() => service)), '/#sign-in-failed=no_role')
          const invitation = await invite(service, ADA.email)
          const invited = await issuer.signIn(new PersonTab(() => service), { invitation })
          assert.equal(invited, '/#sign-in-failed=email_not_verified')
          issuer.userinfo = { sub: 'mal', email: ADA.email.toUpperCase(), email_verified: true }
          assert.equal(await issuer.signIn(new PersonTab(() => service), { invitation }), '/')
        },
        { MOORAGE_INIT_PERSON: ADA.email },
      ))

    for (const error of ['invalid_grant', 'access_denied', 'unauthorized', 'interaction_required']) {
      test(`${error} with offline access ends session, role and keys within minutes`, () =>
        withTold({ roles: DEVELOPERS, scopes: OFFLINE }, async (service) => {
          const { tab, keyStatus } = await personIn(service)
          issuer.refusal = { status: error === 'unauthorized' ? 403 : 400, error }
          service.advance(11 * MINUTE)
          assert.equal((await tab.ask('GET', '/v1/agents')).status, 401)
          assert.equal(await keyStatus(), 401)
          assert.deepEqual((await personOf(service)).roles, [])
        }))
    }

    test('a refused refresh without offline access ends the session, but keys work until keepRoles is over', () =>
      withTold({ roles: DEVELOPERS }, async (service) => {
        const { tab, keyStatus } = await personIn(service)
        issuer.refusal = { status: 400, error: 'access_denied' }
        service.advance(11 * MINUTE)
        assert.equal((await tab.ask('GET', '/v1/agents')).status, 401)
        assert.equal(await keyStatus(), 200)
      }))

    test('if the provider ends one of two sign-ins, the other one keeps the role', () =>
      withTold({ roles: DEVELOPERS, scopes: OFFLINE }, async (service) => {
        const first = await personIn(service)
        const second = await personIn(service)
        service.advance(6 * MINUTE)
        issuer.refusal = { status: 400, error: 'invalid_grant' }
        service.advance(5 * MINUTE)
        assert.equal((await first.tab.ask('GET', '/v1/agents')).status, 401)
        assert.equal(await first.keyStatus(), 200)
        assert.equal((await second.tab.ask('GET', '/v1/agents')).status, 401)
        assert.equal(await first.keyStatus(), 401)
      }))

    test('a rejected client, a busy provider or a used refresh token ends no key', () =>
      withTold({ roles: DEVELOPERS, scopes: OFFLINE }, async (service) => {
        const { tab, keyStatus } = await personIn(service)
        for (const refusal of [
          { status: 400, error: 'invalid_client' },
          { status: 429, error: 'too_many_requests' },
        ]) {
          issuer.refusal = refusal
          service.advance(11 * MINUTE)
          assert.equal((await tab.ask('GET', '/v1/agents')).status, 503)
          assert.equal(await keyStatus(), 200)
        }
        issuer.refusal = { status: 400, error: 'invalid_grant' }
        service.advance(MINUTE)
        assert.equal((await tab.ask('GET', '/v1/agents')).status, 401)
        assert.equal(await keyStatus(), 200)
      }))

    test("a provider's new keys are accepted immediately", () =>
      withTold({ roles: DEVELOPERS }, async (service) => {
        assert.equal(await issuer.signIn(new PersonTab(() => service)), '/')
        issuer.key = await newSigningKey('two')
        issuer.keys = [issuer.key.jwk]
        assert.equal(await issuer.signIn(new PersonTab(() => service)), '/')
      }))
  })
}
