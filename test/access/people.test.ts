import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { PersonTab } from '../support/console/person-tab.ts'
import { wakeJobs } from '../support/inside.ts'
import { type Account, type OidcIssuer, startOidcIssuer } from '../support/outside/oidc-issuer.ts'
import { until } from '../support/running/until.ts'
import { inProject, type Service, STORY_ENGINES, startService } from '../support/service/service.ts'
import { createAgent, idsOf } from '../support/slices/resources.ts'

const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE
const ROLES = [
  { group: 'ops', project: '*', role: 'admin' },
  { group: 'shop-devs', project: 'shop', role: 'developer' },
  { group: 'readers', project: 'shop', role: 'viewer' },
  { group: 'readers', project: 'default', role: 'viewer' },
]

for (const engine of STORY_ENGINES) {
  describe(`people on ${engine}`, () => {
    let issuer: OidcIssuer
    let service: Service
    let shop: Service
    let accounts = 0

    /** Somebody with an account at the provider. */
    const newAccount = (account: Account = {}) => {
      const subject = `u-${++accounts}`
      const email = `${subject}@example.com`
      issuer.accounts.set(subject, { name: `Person ${accounts}`, email, email_verified: true, ...account })
      return { subject, email }
    }
    /** A browser in which a person with these groups is signed in. */
    const signedIn = async (groups: string[], account: Account = {}) => {
      const { subject, email } = newAccount({ groups, ...account })
      const tab = new PersonTab(() => service)
      assert.equal(await tab.signInAs(issuer, subject), '/')
      const { person } = await tab.session()
      return { tab, subject, email, id: person.id as string }
    }

    before(async () => {
      issuer = await startOidcIssuer()
      const oidc = [issuer.entry({ label: 'Corporate login', roles: ROLES })]
      service = await startService(engine, { MOORAGE_CONSOLE__OIDC: JSON.stringify(oidc) })
      issuer.serve(service.url)
      await service.call('POST', '/v1/projects', { body: { name: 'shop' } })
      shop = inProject(service, 'shop')
      const script = { rules: [{ reply: 'late', delay_ms: 60_000 }] }
      await createAgent(shop, 'slow-of-all', { model: 'builtin/script', script })
      await createAgent(shop, 'seller')
    })
    after(async () => {
      await service.stop()
      await issuer.close()
    })

    test('a person who signs in gets the role of their group', async () => {
      issuer.accounts.set('ada', { name: 'Ada', email: 'Ada@Example.com', email_verified: true, groups: ['shop-devs'] })
      const tab = new PersonTab(() => service)
      assert.deepEqual((await tab.session()).issuers, [{ name: 'corp', label: 'Corporate login' }])
      assert.equal(await tab.signInAs(issuer, 'ada', { to: '/agents?x=1' }), '/agents?x=1')
      const session = await tab.session()
      assert.partialDeepStrictEqual(session, {
        signed_in: true,
        key: null,
        person: { name: 'Ada', email: 'ada@example.com', role: 'developer' },
        permissions: ['read', 'write'],
        reach: 'project',
      })
      assert.deepEqual(session.projects, [{ id: session.project_id, name: 'shop' }])
      assert.ok(session.features.includes('createPersonalKey') && !session.features.includes('createKey'))
      assert.equal((await tab.ask('GET', '/v1/agents')).body.data[0].name, 'seller')
      assert.equal((await tab.ask('POST', '/v1/agents', { body: { name: 'second' } })).status, 201)
      assert.equal((await tab.ask('GET', '/v1/keys')).status, 403)

      const { body } = await shop.call('GET', '/v1/people?email=ada@example.com')
      const [person] = body.data
      assert.partialDeepStrictEqual(person, {
        id: session.person.id,
        name: 'Ada',
        email: 'ada@example.com',
        email_verified: true,
        identities: [{ issuer: issuer.url, subject: 'ada' }],
        roles: [{ role: 'developer', project_id: session.project_id, source: 'group:corp' }],
      })
      assert.deepEqual((await service.call('GET', `/v1/people/${person.id}`)).body.data, person)
      const audit = await shop.call('GET', `/v1/audit-log?action=createAgent&actor=${person.id}`)
      assert.partialDeepStrictEqual(audit.body.data[0], { actor_kind: 'person', actor_name: 'Ada', key_id: null })
    })

    test('a role applies to one project; in another one, the person has another role or none', async () => {
      const { tab } = await signedIn(['readers'])
      const inShop = { headers: { 'Moorage-Project': 'shop' } }
      assert.equal((await tab.session()).project_id, 'prj_default')
      assert.equal((await tab.session('shop')).person.role, 'viewer')
      assert.equal((await tab.ask('GET', '/v1/agents', inShop)).body.data.at(-1).name, 'slow-of-all')
      assert.equal((await tab.ask('GET', '/v1/agents')).body.data.at(-1).name, 'hello')
      const { tab: other } = await signedIn(['shop-devs'])
      const refused = await other.ask('GET', '/v1/agents', { headers: { 'Moorage-Project': 'default' } })
      assert.deepEqual([refused.status, refused.body.error.code], [403, 'forbidden'])
      const unknown = await other.ask('GET', '/v1/agents', { headers: { 'Moorage-Project': 'no-such' } })
      assert.deepEqual(unknown.body.error, refused.body.error)
    })

    test('a person without a role gets a message, and an administrator can grant one', async () => {
      const { subject, email } = newAccount()
      const tab = new PersonTab(() => service)
      assert.equal(await tab.signInAs(issuer, subject), '/#sign-in-failed=no_role')
      assert.equal(tab.cookie, '')
      const [person] = (await service.call('GET', `/v1/people?email=${email}`)).body.data
      assert.deepEqual(person.roles, [])
      const given = await shop.call('PUT', `/v1/people/${person.id}/role`, { body: { role: 'caller' } })
      assert.partialDeepStrictEqual(given.body.data.roles, [{ role: 'caller', source: 'granted' }])
      assert.equal(await tab.signInAs(issuer, subject), '/')
      assert.deepEqual((await tab.session()).permissions, ['invoke'])
      const taken = await shop.call('PUT', `/v1/people/${person.id}/role`, { body: { role: null } })
      assert.deepEqual(taken.body.data.roles, [])
      assert.equal(await tab.isIn(), false)
    })

    test('within ten minutes after a group is removed, the role ends with its streams and personal keys', async () => {
      const { tab, subject } = await signedIn(['shop-devs'])
      const made = await tab.ask('POST', '/v1/personal-keys', { body: { name: 'laptop', role: 'developer' } })
      assert.equal(made.status, 201, made.text)
      const key = made.body.data.secret
      await createAgent(shop, `slow-${subject}`, {
        model: 'builtin/script',
        script: { rules: [{ reply: 'late', delay_ms: 60_000 }] },
      })
      const streams = [{ Authorization: `Bearer ${key}` }, { ...tab.headers, Cookie: tab.cookie }].map((who) =>
        fetch(`${service.url}/v1/agents/slow-${subject}/invoke`, {
          method: 'POST',
          headers: { 'Content-Type': 'application/json', Accept: 'text/event-stream', ...who },
          body: JSON.stringify({ message: 'wait' }),
        }),
      )
      for (const stream of streams) assert.equal((await stream).status, 200)
      issuer.accounts.set(subject, { ...issuer.accounts.get(subject), groups: [] })
      service.advance(11 * MINUTE)
      assert.equal((await tab.ask('GET', '/v1/agents')).status, 401)
      assert.equal((await service.call('GET', '/v1/agents', { key })).status, 401)
      for (const stream of streams) await assert.rejects((await stream).text())
    })

    test("if a provider can't be reached for a week, the roles that its groups give end", async () => {
      const { tab } = await signedIn(['shop-devs'])
      const made = await tab.ask('POST', '/v1/personal-keys', { body: { name: 'laptop', role: 'viewer' } })
      const whether = async () => (await service.call('GET', '/v1/agents', { key: made.body.data.secret })).status
      await tab.ask('DELETE', '/console/session')
      issuer.isDown = true
      service.advance(6 * DAY)
      wakeJobs(service)
      assert.equal(await whether(), 200)
      service.advance(2 * DAY)
      await until('the role has ended, and the key with it', async () => {
        // The hourly sweep requested on the sixth day might end only now.
        service.advance(60 * MINUTE)
        wakeJobs(service)
        return (await whether()) === 401
      })
      issuer.isDown = false
    })

    test('a smaller role ends the streams and schedules that need the larger one', async () => {
      const { subject, email } = newAccount({ groups: ['shop-devs'] })
      const tab = new PersonTab(() => service)
      await tab.signInAs(issuer, subject)
      const [person] = (await service.call('GET', `/v1/people?email=${email}`)).body.data
      const schedule = { name: `s-${subject}`, every: '15m', message: 'hi' }
      const { body } = await tab.ask('POST', '/v1/agents/seller/schedules', { body: schedule })
      const stream = await fetch(`${service.url}/v1/agents/slow-of-all/invoke`, {
        method: 'POST',
        headers: {
          ...tab.headers,
          Cookie: tab.cookie,
          'Content-Type': 'application/json',
          Accept: 'text/event-stream',
        },
        body: JSON.stringify({ message: 'wait' }),
      })
      assert.equal(stream.status, 200)
      await shop.call('PUT', `/v1/people/${person.id}/role`, { body: { role: 'viewer' } })
      await assert.rejects(stream.text())
      service.advance(15 * MINUTE)
      wakeJobs(service)
      await until('the schedule is disabled', async () => {
        const { data } = (await shop.call('GET', `/v1/agents/seller/schedules/${body.data.id}`)).body
        return !data.enabled
      })
    })

    test('an added group takes effect at the next refresh', async () => {
      const { tab, subject } = await signedIn(['readers'])
      issuer.accounts.set(subject, { ...issuer.accounts.get(subject), groups: ['readers', 'shop-devs'] })
      service.advance(11 * MINUTE)
      assert.deepEqual((await tab.session('shop')).permissions, ['read', 'write'])
      assert.deepEqual((await tab.session('default')).permissions, ['read'])
    })

    test('while the provider is down, its people can continue for ten minutes; keys and links always work', async () => {
      const { tab } = await signedIn(['shop-devs'])
      issuer.isDown = true
      service.advance(9 * MINUTE)
      assert.equal((await tab.ask('GET', '/v1/agents')).status, 200)
      service.advance(2 * MINUTE)
      const waits = await tab.ask('GET', '/v1/agents')
      assert.deepEqual([waits.status, waits.body.error.code], [503, 'unavailable'])
      const begun = await new PersonTab(() => service).ask('POST', '/console/sign-in/corp', { body: {} })
      assert.ok(begun.status === 200 || begun.status === 503, begun.text)
      const withKey = new PersonTab(() => service)
      await withKey.signIn(service.admin)
      assert.equal(await withKey.isIn(), true)
      issuer.isDown = false
      service.advance(MINUTE)
      assert.equal((await tab.ask('GET', '/v1/agents')).status, 200)
    })

    test('a personal key never has more permissions than the role, and ends with it', async () => {
      const { tab, id } = await signedIn([], {}).catch(async () => {
        const { subject, email } = newAccount()
        const one = new PersonTab(() => service)
        await one.signInAs(issuer, subject)
        const [person] = (await service.call('GET', `/v1/people?email=${email}`)).body.data
        await shop.call('PUT', `/v1/people/${person.id}/role`, { body: { role: 'developer' } })
        await one.signInAs(issuer, subject)
        return { tab: one, id: person.id as string, subject, email }
      })
      const create = (body: object) => tab.ask('POST', '/v1/personal-keys', { body: { name: 'mine', ...body } })
      assert.equal((await create({ role: 'admin' })).status, 403)
      const { body } = await create({ permissions: ['read', 'write'] })
      const { secret: key, id: key_id, person_id, person_name } = body.data
      assert.deepEqual([person_id, person_name], [id, (await tab.session()).person.name])
      assert.deepEqual(
        (await tab.ask('GET', '/v1/personal-keys')).body.data.map((one: { id: string }) => one.id),
        [key_id],
      )
      assert.equal((await shop.call('GET', `/v1/keys?person_id=${id}`)).body.pagination.total, 1)
      assert.equal((await shop.call('POST', `/v1/keys/${key_id}/rotate`)).status, 403)
      await service.call('POST', '/v1/agents', {
        key,
        body: { name: `by-${engine}-${key_id.slice(-5).toLowerCase()}` },
      })
      const audit = await shop.call('GET', `/v1/audit-log?action=createAgent&actor=${id}`)
      assert.partialDeepStrictEqual(audit.body.data[0], { actor_kind: 'person', actor: id, key_id })

      await shop.call('PUT', `/v1/people/${id}/role`, { body: { role: 'viewer' } })
      assert.deepEqual((await service.call('GET', '/v1/keys/self', { key })).body.data.permissions, ['read'])
      await shop.call('PUT', `/v1/people/${id}/role`, { body: { role: null } })
      assert.equal((await service.call('GET', '/v1/keys/self', { key })).status, 401)
    })

    test("a key can't create personal keys, and people can't revoke the personal keys of others", async () => {
      const refused = await service.call('POST', '/v1/personal-keys', { body: { name: 'k', role: 'viewer' } })
      assert.equal(refused.status, 403)
      const [one, two] = [await signedIn(['shop-devs']), await signedIn(['shop-devs'])]
      const made = await one.tab.ask('POST', '/v1/personal-keys', { body: { name: 'k', role: 'viewer' } })
      const path = `/v1/personal-keys/${made.body.data.id}`
      assert.equal((await two.tab.ask('DELETE', path)).status, 404)
      assert.equal((await service.call('GET', '/v1/keys/self', { key: made.body.data.secret })).status, 200)
      assert.equal((await one.tab.ask('DELETE', path)).status, 200)
      assert.equal((await service.call('GET', '/v1/keys/self', { key: made.body.data.secret })).status, 401)
    })

    test("a project's administrator can grant roles in it, and sees only its people", async () => {
      const { tab, id } = await signedIn(['shop-devs'])
      await shop.call('PUT', `/v1/people/${id}/role`, { body: { role: 'admin' } })
      const { id: stranger } = await signedIn(['ops'])
      const { id: colleague } = await signedIn(['shop-devs'])
      const give = (whom: string, body: object) => tab.ask('PUT', `/v1/people/${whom}/role`, { body })
      assert.equal((await give(stranger, { role: 'viewer' })).status, 404)
      assert.equal((await tab.ask('GET', `/v1/people/${stranger}`)).status, 404)
      assert.equal((await give(colleague, { role: 'viewer', all_projects: true })).status, 403)
      assert.equal((await give(colleague, { role: 'viewer' })).body.data.roles[0].role, 'viewer')
      assert.equal((await tab.ask('DELETE', `/v1/people/${colleague}`)).status, 403)
      const listed = new Set(idsOf(await tab.ask('GET', '/v1/people?limit=100')))
      assert.ok(listed.has(colleague) && !listed.has(stranger))
    })

    test('409 for removing a role that comes from a group', async () => {
      const { id } = await signedIn(['shop-devs'])
      assert.equal((await shop.call('PUT', `/v1/people/${id}/role`, { body: { role: null } })).status, 409)
    })

    test('service administrators have access to all projects; when they are removed, their keys and sessions end', async () => {
      const { tab, id } = await signedIn(['ops'])
      assert.partialDeepStrictEqual(await tab.session(), { reach: 'service', person: { role: 'admin' } })
      const { body } = await tab.ask('POST', '/v1/personal-keys', { body: { name: 'all', role: 'admin' } })
      const key = body.data.secret
      const headers = { 'Moorage-Project': 'shop' }
      assert.equal((await service.call('GET', '/v1/agents/seller', { key, headers })).status, 200)
      assert.equal((await service.call('DELETE', `/v1/people/${id}`)).status, 200)
      assert.equal((await service.call('GET', '/v1/agents', { key })).status, 401)
      assert.equal(await tab.isIn(), false)
    })

    test("administrators can list and end people's sessions", async () => {
      const { tab, id } = await signedIn(['shop-devs'])
      const { body } = await shop.call('GET', `/v1/console-sessions?person_id=${id}`)
      assert.partialDeepStrictEqual(body.data, [{ key_id: null, person_id: id, issuer: 'corp' }])
      assert.deepEqual((await tab.ask('GET', '/v1/console-sessions')).body.pagination.total, 1)
      assert.equal((await shop.call('DELETE', `/v1/console-sessions/${body.data[0].id}`)).status, 200)
      assert.equal(await tab.isIn(), false)
    })
  })
}
