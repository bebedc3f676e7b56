import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { PersonTab, signInDevice } from '../support/console/person-tab.ts'
import type { Account } from '../support/outside/oidc-issuer.ts'
import { until } from '../support/running/until.ts'
import { ENGINES, type Service } from '../support/service/service.ts'
import { issuerOf, withIssuers } from '../support/service/with-issuers.ts'

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

/** Sweeps come every hour of the service's clock. */
async function sweptUntil(what: string, service: Service, look: () => Promise<boolean>): Promise<void> {
  await until(what, async () => {
    service.advance(HOUR)
    service.app.jobs.wake()
    return look()
  })
}

for (const engine of ENGINES) {
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

    test('who signs out at the provider is signed out here', async (t) => {
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
        assert.deepEqual(await toldOf(service, 'revokeKey'), [])
        const second = await signInDevice(service, 'laptop')
        const { person_id: actor } = (await service.call('GET', '/v1/keys/self', { key: second.secret })).body.data
        assert.equal((await service.call('GET', '/v1/keys/self', { key: first.secret })).status, 401)
        assert.deepEqual(await toldOf(service, 'revokeKey'), [
          { actor_kind: 'person', actor, target: first.id, address: '127.0.0.1', outcome: 'success' },
        ])
      })
    })
  })
}

test('a role whose provider the operator has removed', async (t) => {
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
