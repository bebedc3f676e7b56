import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { PersonTab, signInDevice } from '../support/console/person-tab.ts'
import { wakeJobs } from '../support/inside.ts'
import type { Account } from '../support/outside/oidc-issuer.ts'
import { until } from '../support/running/until.ts'
import { ANY_ENGINE, inProject, type Service, withService } from '../support/service/service.ts'
import { issuerOf, withIssuers } from '../support/service/with-issuers.ts'
import { createAgent, createKey } from '../support/slices/resources.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const ada: Account = { name: 'Ada', email: 'ada@example.com', email_verified: true, groups: ['all'] }
const roles = [{ group: 'all', project: 'default', role: 'developer' }]

/** What the audit log tells of an action, the newest first. */
async function toldOf(service: Service, action: string) {
  const { body } = await service.call('GET', `/v1/audit-log?action=${action}`)
  return body.data.map(({ actor_kind, actor, target, address, outcome }: Record<string, unknown>) => ({
    actor_kind,
    actor,
    target,
    address,
    outcome,
  }))
}

/** The service sweeps once an hour, by its own clock. */
async function sweptUntil(what: string, service: Service, look: () => Promise<boolean>): Promise<void> {
  await until(what, async () => {
    service.advance(HOUR)
    wakeJobs(service)
    return look()
  })
}

for (const engine of ANY_ENGINE) {
  describe(`the audit log of people on ${engine}`, () => {
    test('roles that groups give and end, and a session that the provider ends', async (t) => {
      const issuer = await issuerOf(t)
      issuer.accounts.set('ada', ada)
      await withIssuers(engine, [{ issuer, entry: { roles } }], async (service) => {
        const tab = new PersonTab(() => service)
        await tab.signInAs(issuer, 'ada')
        const { person, session_id } = await tab.session()
        const by = { actor_kind: 'person', actor: person.id, outcome: 'success' }
        const role = { ...by, target: person.id }
        assert.deepEqual(await toldOf(service, 'giveRoleByGroup'), [{ ...role, address: '127.0.0.1' }])
        issuer.accounts.set('ada', { ...ada, name: 'Ada L.' })
        service.advance(11 * MINUTE)
        assert.equal(await tab.isIn(), true)
        assert.equal((await toldOf(service, 'giveRoleByGroup')).length, 1, 'a new name is no new role')

        issuer.accounts.delete('ada')
        service.advance(11 * MINUTE)
        assert.equal(await tab.isIn(), false)
        assert.deepEqual(await toldOf(service, 'signOutByIssuer'), [{ ...by, target: session_id, address: null }])

        issuer.accounts.set('ada', ada)
        await tab.signInAs(issuer, 'ada')
        issuer.accounts.set('ada', { ...ada, groups: [] })
        service.advance(11 * MINUTE)
        assert.equal(await tab.isIn(), false)
        assert.deepEqual(await toldOf(service, 'endRoleByGroup'), [{ ...role, address: null }])
      })
    })

    test('an invitation that is accepted', async (t) => {
      const issuer = await issuerOf(t)
      issuer.accounts.set('ada', ada)
      await withIssuers(engine, [{ issuer, entry: {} }], async (service) => {
        const invited = { body: { email: 'ada@example.com', role: 'viewer' } }
        const { body } = await service.call('POST', '/v1/invitations', invited)
        const tab = new PersonTab(() => service)
        await tab.signInAs(issuer, 'ada', { invitation: body.data.token })
        const { person } = await tab.session()
        assert.deepEqual(await toldOf(service, 'acceptInvitation'), [
          { actor_kind: 'person', actor: person.id, target: person.id, address: '127.0.0.1', outcome: 'success' },
        ])
      })
    })

    test('refused sign-ins: a person without a role, one who declines, and one who comes back without a code', async (t) => {
      const issuer = await issuerOf(t)
      issuer.accounts.set('bob', { ...ada, groups: [] })
      await withIssuers(engine, [{ issuer, entry: { roles } }], async (service) => {
        const refused = async () => {
          const { body } = await service.call('GET', '/v1/audit-log?outcome=refused')
          return body.data.map(({ action, code, times, address }: Record<string, unknown>) => ({
            action,
            code,
            times,
            address,
          }))
        }
        const entry = { action: 'signIn', times: 1, address: '127.0.0.1' }
        // Refusals are counted by the minute: here one has begun.
        service.advance(MINUTE - (service.now() % MINUTE))
        assert.equal(await new PersonTab(() => service).signInAs(issuer, 'bob'), '/#sign-in-failed=no_role')
        await until('it is told', async () => (await refused()).length === 1)
        assert.deepEqual(await refused(), [{ ...entry, code: 'forbidden' }])
        assert.equal(await new PersonTab(() => service).signInAs(issuer, undefined), '/#sign-in-failed=denied')
        const made = await fetch(`${service.url}/console/sign-in/corp/callback?state=x&code=y`, { redirect: 'manual' })
        assert.match(made.headers.get('location') ?? '', /sign-in-failed=expired$/)
        await until('it is told', async () => (await refused()).length === 2)
        assert.deepEqual((await refused())[0], { ...entry, code: 'unauthorized' }, 'many become few')
        issuer.isDown = true
        await new PersonTab(() => service).ask('POST', '/console/sign-in/corp', { body: {} })
        assert.equal((await refused()).length, 2, 'a provider that is away refuses nothing')
      })
    })

    test('a role for which the provider has not vouched in time', async (t) => {
      const issuer = await issuerOf(t)
      issuer.accounts.set('ada', ada)
      await withIssuers(engine, [{ issuer, entry: { roles } }], async (service) => {
        const tab = new PersonTab(() => service)
        await tab.signInAs(issuer, 'ada')
        const { person } = await tab.session()
        await tab.ask('DELETE', '/console/session')
        service.advance(7 * DAY)
        await sweptUntil('it is told', service, async () => (await toldOf(service, 'endStaleRole')).length > 0)
        assert.deepEqual(await toldOf(service, 'endStaleRole'), [
          { actor_kind: 'local', actor: 'local', target: person.id, address: null, outcome: 'success' },
        ])
      })
    })

    test('a person who signs out at the provider is signed out here', async (t) => {
      const issuer = await issuerOf(t)
      issuer.accounts.set('ada', ada)
      await withIssuers(engine, [{ issuer, entry: { roles }, backchannel: true }], async (service) => {
        const tab = new PersonTab(() => service)
        await tab.signInAs(issuer, 'ada')
        const { person, session_id } = await tab.session()
        await tab.signOutAt(issuer)
        await until('the provider has told the service', async () => !(await tab.isIn()))
        assert.deepEqual(await toldOf(service, 'signOutByIssuer'), [
          {
            actor_kind: 'person',
            actor: person.id,
            target: session_id,
            address: '127.0.0.1',
            outcome: 'success',
          },
        ])
      })
    })

    test('the key that a device had before ends when it signs in again', async (t) => {
      const issuer = await issuerOf(t)
      issuer.accounts.set('ada', ada)
      issuer.next = 'ada'
      await withIssuers(engine, [{ issuer, entry: { roles } }], async (service) => {
        const first = await signInDevice(service, 'laptop')
        const other = await signInDevice(service, 'desktop')
        assert.deepEqual(await toldOf(service, 'revokeKey'), [])
        const second = await signInDevice(service, 'laptop')
        const { person_id: actor } = (await service.call('GET', '/v1/keys/self', { key: second.secret })).body.data
        assert.equal((await service.call('GET', '/v1/keys/self', { key: first.secret })).status, 401)
        assert.equal((await service.call('GET', '/v1/keys/self', { key: other.secret })).status, 200)
        assert.deepEqual(await toldOf(service, 'revokeKey'), [
          { actor_kind: 'person', actor, target: first.id, address: '127.0.0.1', outcome: 'success' },
        ])
      })
    })
  })
}

for (const engine of ANY_ENGINE) {
  test(`administrators of the service read the entries of a deleted project, on ${engine}`, async () => {
    await withService(engine, async (service) => {
      const { id } = (await service.call('POST', '/v1/projects', { body: { name: 'brief' } })).body.data
      const brief = inProject(service, 'brief')
      const agent = await createAgent(brief, 'gone')
      const { secret: key } = await createKey(service, { role: 'admin', all_projects: false })
      const read = (by = service.admin) => service.call('GET', `/v1/audit-log?deleted_project_id=${id}`, { key: by })
      const early = await read()
      assert.deepEqual(
        [early.status, early.body.error.details],
        [
          400,
          [
            {
              field: 'deleted_project_id',
              error: 'this project exists; name it in the header Moorage-Project instead',
            },
          ],
        ],
      )
      assert.equal((await service.call('DELETE', `/v1/projects/${id}?name=brief`)).status, 200)
      assert.partialDeepStrictEqual((await read()).body.data, [
        { action: 'createAgent', project_id: id, agent_id: agent, target: agent, outcome: 'success' },
      ])
      assert.equal((await read(key)).status, 403)
    })
  })
}

test('at startup, the log names the settings that grant nothing', async (t) => {
  const issuer = await issuerOf(t)
  const idle = { group: 'shop', project: 'no-such', role: 'viewer' }
  await withIssuers('sqlite', [{ issuer, entry: { roles: [...roles, idle] } }], async (service) => {
    const told = service
      .log()
      .split('\n')
      .filter((line) => line.includes('roles name a project or a role that does not exist'))
    assert.equal(told.length, 1)
    assert.partialDeepStrictEqual(JSON.parse(told[0] ?? ''), { issuer: 'corp', ...idle })
  })
})

test('the audit log contains the end of a role whose provider the operator has removed', async (t) => {
  const issuer = await issuerOf(t)
  issuer.accounts.set('ada', ada)
  await withIssuers('postgres', [{ issuer, entry: { roles } }], async (service) => {
    const tab = new PersonTab(() => service)
    await tab.signInAs(issuer, 'ada')
    const { person } = await tab.session()
    const without = await service.beside({ MOORAGE_CONSOLE__OIDC: '[]' })
    try {
      await sweptUntil('it is told', without, async () => (await toldOf(without, 'endForsakenRole')).length > 0)
      assert.deepEqual(await toldOf(without, 'endForsakenRole'), [
        { actor_kind: 'local', actor: 'local', target: person.id, address: null, outcome: 'success' },
      ])
    } finally {
      await without.stop()
    }
  })
})
