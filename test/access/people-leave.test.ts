import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { PersonTab } from '../support/console/person-tab.ts'
import type { Account } from '../support/outside/oidc-issuer.ts'
import { ANY_ENGINE } from '../support/service/service.ts'
import { issuerOf, withIssuers } from '../support/service/with-issuers.ts'

const ada: Account = { name: 'Ada', email: 'ada@example.com', email_verified: true, groups: ['all'] }
const ADMINS = [{ group: 'all', project: '*', role: 'admin' }]

for (const engine of ANY_ENGINE) {
  describe(`when a role gets smaller or a person is removed, on ${engine}`, () => {
    test('a smaller role narrows personal keys permanently; the reply and the audit log name them', async (t) => {
      const issuer = await issuerOf(t)
      issuer.accounts.set('ada', { ...ada, groups: [] })
      await withIssuers(engine, [{ issuer, entry: {} }], async (service) => {
        const tab = new PersonTab(() => service)
        await tab.signInAs(issuer, 'ada')
        const [person] = (await service.call('GET', '/v1/people?email=ada@example.com')).body.data
        const setRole = async (role: string | null) => {
          const { body } = await service.call('PUT', `/v1/people/${person.id}/role`, { body: { role } })
          const { narrowed_keys, revoked_keys } = body.data
          return { narrowed_keys, revoked_keys }
        }
        assert.deepEqual(await setRole('developer'), { narrowed_keys: [], revoked_keys: [] })
        await tab.signInAs(issuer, 'ada')
        const make = async (permissions: string[]) => {
          const made = await tab.ask('POST', '/v1/personal-keys', { body: { name: `${permissions}`, permissions } })
          assert.equal(made.status, 201, made.text)
          return made.body.data as { id: string; secret: string }
        }
        const [writes, reads, invokes] = [await make(['write']), await make(['read']), await make(['invoke'])]
        const mayDo = async ({ secret: key }: { secret: string }) => {
          const { status, body } = await service.call('GET', '/v1/keys/self', { key })
          return status === 200 ? body.data.permissions : status
        }
        assert.deepEqual(await setRole('caller'), { narrowed_keys: [writes.id], revoked_keys: [reads.id] })
        assert.deepEqual([await mayDo(writes), await mayDo(reads), await mayDo(invokes)], [['invoke'], 401, ['invoke']])
        assert.deepEqual(await setRole('developer'), { narrowed_keys: [], revoked_keys: [] })
        assert.deepEqual(await mayDo(writes), ['invoke'], 'what was lost does not come back')

        for (const [action, target, fields] of [
          ['narrowKey', writes.id, ['permissions']],
          ['revokeKey', reads.id, []],
        ] as const) {
          const { body } = await service.call('GET', `/v1/audit-log?action=${action}`)
          assert.partialDeepStrictEqual(body.data, [{ actor_kind: 'key', target, fields, outcome: 'success' }])
          assert.equal(body.data.length, 1)
        }
      })
    })

    test('the webhooks and service keys of a removed person are kept, and the reply names them', async (t) => {
      const issuer = await issuerOf(t)
      issuer.accounts.set('ada', ada)
      await withIssuers(engine, [{ issuer, entry: { roles: ADMINS } }], async (service) => {
        const tab = new PersonTab(() => service)
        await tab.signInAs(issuer, 'ada')
        const { person, actor_id } = await tab.session()
        const create = async (path: string, body: object, key?: string) => {
          const made = key ? await service.call('POST', path, { key, body }) : await tab.ask('POST', path, { body })
          assert.equal(made.status, 201, made.text)
          return made.body.data
        }
        const mine = await create('/v1/personal-keys', { name: 'mine', role: 'admin' })
        const hook = { url: 'https://example.com/hook', events: ['*'] }
        const hooks = [await create('/v1/webhooks', hook), await create('/v1/webhooks', hook, mine.secret)]
        assert.deepEqual(
          hooks.map(({ created_by }) => created_by),
          [actor_id, mine.id],
        )
        const backend = await create('/v1/keys', { name: 'backend', role: 'caller' })
        const removed = await service.call('DELETE', `/v1/people/${person.id}`)
        assert.deepEqual(removed.body.data, {
          id: person.id,
          deleted: true,
          revoked_keys: [mine.id],
          kept_keys: [backend.id],
          kept_webhooks: hooks.map(({ id }) => id),
        })
        for (const { id } of hooks) {
          assert.equal((await service.call('GET', `/v1/webhooks/${id}`)).body.data.status, 'enabled')
        }
        assert.equal((await service.call('GET', '/v1/keys/self', { key: backend.secret })).status, 200)
      })
    })

    test("409 for renaming a project that a provider's role mapping names", async (t) => {
      const issuer = await issuerOf(t)
      const roles = [...ADMINS, { group: 'shop', project: 'shop', role: 'viewer' }]
      await withIssuers(engine, [{ issuer, entry: { roles } }], async (service) => {
        for (const name of ['shop', 'free']) await service.call('POST', '/v1/projects', { body: { name } })
        const refused = await service.call('PATCH', '/v1/projects/shop', { body: { name: 'store' } })
        assert.equal(refused.status, 409)
        assert.match(refused.body.error.message, /console\.oidc\[name=corp\]\.roles\[1\]\.project.*"shop"/)
        for (const [name, body] of [
          ['shop', { name: 'shop', description: 'the same name' }],
          ['free', { name: 'freed' }],
        ] as const) {
          assert.equal((await service.call('PATCH', `/v1/projects/${name}`, { body })).status, 200)
        }
      })
    })
  })
}
