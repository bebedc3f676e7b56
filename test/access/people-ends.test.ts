import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { sendHalf } from '../support/clients/half-sent.ts'
import { PersonTab } from '../support/console/person-tab.ts'
import { storeOf } from '../support/inside.ts'
import type { Account } from '../support/outside/oidc-issuer.ts'
import { ANY_ENGINE, inProject, type Reply, type Service } from '../support/service/service.ts'
import { issuerOf, withIssuers } from '../support/service/with-issuers.ts'
import { createAgent } from '../support/slices/resources.ts'

const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE
const ada: Account = { name: 'Ada', email: 'ada@example.com', email_verified: true, groups: ['all'] }
const ADMINS = [{ group: 'all', project: '*', role: 'admin' }]

for (const engine of ANY_ENGINE) {
  describe(`the end of people's sessions, keys and roles, on ${engine}`, () => {
    test('a session whose stored tokens are damaged gets 401 and a log entry', async (t) => {
      const issuer = await issuerOf(t)
      issuer.accounts.set('ada', ada)
      await withIssuers(engine, [{ issuer, entry: { roles: ADMINS } }], async (service) => {
        const [tab, other] = [new PersonTab(() => service), new PersonTab(() => service)]
        await tab.signInAs(issuer, 'ada')
        const [session] = (await service.call('GET', '/v1/console-sessions')).body.data
        await other.signInAs(issuer, 'ada')
        const damage = storeOf(service).updateTable('console_sessions').set({ issuer_tokens: 'damaged' })
        await damage.where('id', '=', session.id).execute()
        service.advance(11 * MINUTE)
        const reply = await tab.ask('GET', '/v1/agents')
        assert.deepEqual([reply.status, reply.body.error.code], [401, 'unauthorized'])
        const told = service
          .log()
          .split('\n')
          .filter((line) => line.includes('is damaged'))
        assert.ok(told.length === 1 && told[0]?.includes(session.id), told.join('\n'))
        assert.equal(await other.isIn(), true)
        const { body } = await service.call('GET', '/v1/audit-log?action=endDamagedSession')
        assert.deepEqual(
          body.data.map(({ target }: { target: string }) => target),
          [session.id],
        )
        const left = (await service.call('GET', '/v1/console-sessions')).body.data
        assert.ok(!left.some(({ id }: { id: string }) => id === session.id))
      })
    })

    test('a personal key does not move with an agent to a project where its owner has no role', async (t) => {
      const issuer = await issuerOf(t)
      issuer.accounts.set('ada', ada)
      issuer.accounts.set('dev', { ...ada, email: 'dev@example.com', groups: ['devs'] })
      const roles = [...ADMINS, { group: 'devs', project: 'default', role: 'developer' }]
      await withIssuers(engine, [{ issuer, entry: { roles } }], async (service) => {
        await service.call('POST', '/v1/projects', { body: { name: 'shop' } })
        const agent = await createAgent(service, 'mover')
        const keyOf = async (subject: string, agent_id: string | null) => {
          const tab = new PersonTab(() => service)
          await tab.signInAs(issuer, subject)
          const body = { name: 'mine', role: 'viewer', agent_id }
          const made = await tab.ask('POST', '/v1/personal-keys', { body })
          assert.equal(made.status, 201, made.text)
          return made.body.data as { id: string; secret: string }
        }
        const [tied, wide, everywhere] = [
          await keyOf('dev', agent),
          await keyOf('dev', null),
          await keyOf('ada', agent),
        ]
        const move = async (project: string, from = service) => {
          const reply = await from.call('POST', `/v1/agents/${agent}/move`, { body: { project } })
          assert.equal(reply.status, 200, reply.text)
          return reply.body.data.revoked_keys
        }
        const status = async ({ secret: key }: { secret: string }) =>
          (await service.call('GET', '/v1/keys/self', { key })).status
        assert.deepEqual(await move('default'), [], 'it stays where it is')
        assert.equal(await status(tied), 200)
        assert.deepEqual(await move('shop'), [tied.id])
        assert.deepEqual([await status(tied), await status(wide), await status(everywhere)], [401, 200, 200])
        assert.equal((await service.call('GET', `/v1/agents/${agent}`, { key: everywhere.secret })).status, 200)
        const { body } = await service.call('GET', '/v1/audit-log?action=revokeKey')
        assert.partialDeepStrictEqual(body.data, [{ actor_kind: 'key', target: tied.id, agent_id: agent }])
        assert.deepEqual(await move('default', inProject(service, 'shop')), [])
        assert.equal(await status(tied), 401, 'it does not come back with the agent')
      })
    })

    test('a key of the last administrator can be revoked: the administrator stays', async (t) => {
      const issuer = await issuerOf(t)
      issuer.accounts.set('ada', ada)
      const story = async (service: Service) => {
        const tab = new PersonTab(() => service)
        await tab.signInAs(issuer, 'ada')
        const leaked = (await tab.ask('POST', '/v1/personal-keys', { body: { name: 'leaked', role: 'admin' } })).body
          .data
        const { id: first } = (await service.call('GET', '/v1/keys/self')).body.data
        assert.equal((await tab.ask('DELETE', `/v1/keys/${first}`)).status, 200)
        const revoked = await tab.ask('DELETE', `/v1/keys/${leaked.id}`)
        assert.equal(revoked.status, 200, revoked.text)
        assert.equal((await service.call('GET', '/v1/keys/self', { key: leaked.secret })).status, 401)
        assert.deepEqual((await tab.session()).reach, 'service')
      }
      await withIssuers(engine, [{ issuer, entry: {} }], story, { MOORAGE_INIT_PERSON: 'ada@example.com' })
    })

    test('409 for the last key of an administrator if all other administrators get their role from a group', async (t) => {
      const issuer = await issuerOf(t)
      issuer.accounts.set('ada', ada)
      await withIssuers(engine, [{ issuer, entry: { roles: ADMINS } }], async (service) => {
        const tab = new PersonTab(() => service)
        await tab.signInAs(issuer, 'ada')
        const { person } = await tab.session()
        await tab.ask('POST', '/v1/personal-keys', { body: { name: 'mine', role: 'admin' } })
        const { id } = (await service.call('GET', '/v1/keys/self')).body.data
        const revoke = () => tab.ask('DELETE', `/v1/keys/${id}`)
        const refused = await revoke()
        assert.deepEqual([refused.status, refused.body.error.code], [409, 'conflict'])
        assert.match(
          refused.body.error.message,
          /last key .* Create another one first\. Administrators whose role comes from a group don't count/,
        )
        const byHand = { body: { role: 'admin', all_projects: true } }
        assert.equal((await service.call('PUT', `/v1/people/${person.id}/role`, byHand)).status, 200)
        assert.equal((await revoke()).status, 200)
        assert.equal((await tab.ask('DELETE', `/v1/people/${person.id}`)).status, 409)
      })
    })

    test("the first administrator's invitation by email address is valid for a week", async (t) => {
      const issuer = await issuerOf(t)
      issuer.accounts.set('ada', { ...ada, groups: [] })
      const invited = { MOORAGE_INIT_PERSON: 'ada@example.com' }
      for (const [days, end] of [
        [6, '/'],
        [8, '/#sign-in-failed=no_role'],
      ] as const) {
        const story = async (service: Service) => {
          service.advance(days * DAY)
          assert.equal(await new PersonTab(() => service).signInAs(issuer, 'ada'), end)
        }
        await withIssuers(engine, [{ issuer, entry: {} }], story, invited)
      }
    })

    test('401 for a request whose body arrives after its session or role has ended', async (t) => {
      const issuer = await issuerOf(t)
      issuer.accounts.set('ada', ada)
      const invited = { MOORAGE_INIT_PERSON: 'ada@example.com' }
      const story = async (service: Service) => {
        const refusedAfter = async (end: (person_id: string, session_id: string) => Promise<Reply>) => {
          const tab = new PersonTab(() => service)
          await tab.signInAs(issuer, 'ada')
          const { person, session_id } = await tab.session()
          const patch = { method: 'PATCH', body: { description: 'before' } }
          assert.equal((await tab.ask('PATCH', '/v1/agents/hello', patch)).status, 200)
          const headers = { ...tab.headers, Cookie: tab.cookie }
          const half = sendHalf(`${service.url}/v1/agents/hello`, { ...patch, headers, body: { description: 'after' } })
          // The request sent before this call has passed the checks by now.
          assert.equal(await tab.isIn(), true)
          assert.equal((await end(person.id, session_id)).status, 200)
          assert.equal(await half.finish(), 401)
          assert.equal((await service.call('GET', '/v1/agents/hello')).body.data.description, 'before')
        }
        await refusedAfter((_person, session) => service.call('DELETE', `/v1/console-sessions/${session}`))
        await refusedAfter((person) =>
          service.call('PUT', `/v1/people/${person}/role`, { body: { role: 'viewer', all_projects: true } }),
        )
      }
      await withIssuers(engine, [{ issuer, entry: {} }], story, invited)
    })
  })
}
