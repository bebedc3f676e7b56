import assert from 'node:assert/strict'
import { test } from 'node:test'
import { enrol } from '../support/clients/mfa.ts'
import { fieldsOf } from '../support/clients/refusal.ts'
import { storeOf } from '../support/inside.ts'
import { NOWHERE } from '../support/outside/local-server.ts'
import { until } from '../support/running/until.ts'
import { inProject, onAnyEngine, type Service } from '../support/service/service.ts'
import { createAgent, createKey, namesOf } from '../support/slices/resources.ts'
import { LOCAL_RECEIVERS, openInbox } from '../support/slices/webhooks.ts'

onAnyEngine(
  'projects',
  (service) => {
    test('a service without projects uses the default project, and requests need not name it', async () => {
      const { body } = await service().call('GET', '/v1/projects')
      assert.equal(body.pagination.total, 1)
      assert.ok(Math.abs(Date.parse(body.data[0].created_at) - Date.now()) < 3_600_000, body.data[0].created_at)
      assert.partialDeepStrictEqual(body.data[0], {
        id: 'prj_default',
        name: 'default',
        description: null,
        limits: { requests_per_minute: null },
        is_default: true,
      })
      const named = await inProject(service(), 'default').call('GET', '/v1/agents')
      assert.deepEqual(namesOf(named), namesOf(await service().call('GET', '/v1/agents')))
    })

    test('can be created, found by id and name, and renamed; its name is unique', async () => {
      const made = await service().call('POST', '/v1/projects', { body: { name: 'shop', description: 'The shop' } })
      assert.equal(made.status, 201, made.text)
      const { id } = made.body.data
      assert.match(id, /^prj_/)
      for (const ref of [id, 'shop']) {
        assert.deepEqual((await service().call('GET', `/v1/projects/${ref}`)).body.data, made.body.data)
      }
      const again = await service().call('POST', '/v1/projects', { body: { name: 'shop' } })
      assert.deepEqual([again.status, again.body.error.code], [409, 'conflict'])
      const changed = await service().call('PATCH', '/v1/projects/shop', { body: { name: 'store', description: null } })
      assert.partialDeepStrictEqual(changed.body.data, { id, name: 'store', description: null })
      assert.equal((await service().call('GET', '/v1/projects/shop')).status, 404)
      const taken = await service().call('PATCH', '/v1/projects/store', { body: { name: 'default' } })
      assert.equal(taken.status, 409, taken.text)
    })

    test('the default one keeps its name and cannot be deleted', async () => {
      const renamed = await service().call('PATCH', '/v1/projects/default', { body: { name: 'other' } })
      assert.deepEqual(fieldsOf(renamed.body), ['name'])
      assert.equal((await service().call('DELETE', '/v1/projects/default?name=default')).status, 409)
    })

    test('each has its own agents, secrets and providers under the same names', async () => {
      const [one, two] = [await newProject(service(), 'twin-one'), await newProject(service(), 'twin-two')]
      for (const [project, answer] of [
        [one, 'the first'],
        [two, 'the second'],
      ] as const) {
        const script = { rules: [{ reply: answer }] }
        await createAgent(project, 'twin', { model: 'builtin/script', script })
        await project.call('PUT', '/v1/secrets/TOKEN', { body: { value: answer, hosts: ['api.example.com'] } })
      }
      const ask = async (project: Service) =>
        (await project.call('POST', '/v1/agents/twin/invoke', { body: { message: 'who?' } })).body.data.response
      assert.deepEqual([await ask(one), await ask(two)], ['the first', 'the second'])
      assert.equal((await service().call('GET', '/v1/agents/twin')).status, 404)
      assert.equal((await service().call('GET', '/v1/secrets')).body.pagination.total, 0)
      assert.equal((await one.call('GET', '/v1/invocations')).body.pagination.total, 1)
      assert.equal((await one.call('DELETE', '/v1/secrets/TOKEN')).status, 200)
      assert.equal((await two.call('GET', '/v1/secrets')).body.pagination.total, 1)
    })

    test('the same Idempotency-Key in two projects is two requests', async () => {
      const [one, two] = [await newProject(service(), 'key-one'), await newProject(service(), 'key-two')]
      const request = { body: { name: 'same' }, headers: { 'Idempotency-Key': 'one-key' } }
      const replies = [await one.call('POST', '/v1/agents', request), await two.call('POST', '/v1/agents', request)]
      assert.deepEqual(
        replies.map(({ status, headers }) => [status, headers.get('idempotent-replayed')]),
        [
          [201, null],
          [201, null],
        ],
      )
      assert.notEqual(replies[0]?.body.data.id, replies[1]?.body.data.id)
    })

    test("erasing a user in one project keeps the user's data, budgets and stored replies in the other", async () => {
      const [one, two] = [await newProject(service(), 'user-one'), await newProject(service(), 'user-two')]
      const body = { message: 'my name is Ada', context: { user_id: 'ada' } }
      const request = { body, headers: { 'Idempotency-Key': 'ada-asks' } }
      for (const project of [one, two]) {
        await createAgent(project, 'friend')
        for (const id of ['ada', null]) {
          const budget = { name: 'of users', scope: { type: 'user', id }, limit: { runs: 5 }, per: 'ever' }
          assert.equal((await project.call('POST', '/v1/budgets', { body: budget })).status, 201)
        }
        const reply = await project.call('POST', '/v1/agents/friend/invoke', request)
        assert.equal(reply.status, 200, reply.text)
      }
      const erased = await one.call('DELETE', '/v1/users/ada')
      assert.partialDeepStrictEqual(erased.body.data, { memories: 2, invocations: 1, replies: 1 })
      const again = await two.call('POST', '/v1/agents/friend/invoke', request)
      assert.deepEqual([again.status, again.headers.get('idempotent-replayed')], [200, 'true'], again.text)
      assert.equal((await two.call('GET', '/v1/agents/friend/memory')).body.pagination.total, 2)
      const spentIn = async (project: Service) =>
        (await project.call('GET', '/v1/budgets?sort=id')).body.data.map(({ used }: { used: number }) => used)
      assert.deepEqual([await spentIn(one), await spentIn(two)], [[0], [1, 1]])
    })

    test('a key that is made in a project works in that one only, and needs no header', async () => {
      const shop = await newProject(service(), 'keyed')
      await createAgent(shop, 'clerk')
      const { secret, id } = await createKey(shop, { role: 'admin' })
      const self = await service().call('GET', '/v1/keys/self', { key: secret })
      assert.partialDeepStrictEqual(self.body.data, { reach: 'project', project_id: await idOf(service(), 'keyed') })
      assert.deepEqual(namesOf(await service().call('GET', '/v1/agents', { key: secret })), ['clerk'])
      assert.deepEqual(namesOf(await service().call('GET', '/v1/keys', { key: secret })), ['a key'])
      for (const [method, path, body] of [
        ['POST', '/v1/projects', { name: 'more' }],
        ['POST', '/v1/keys', { name: 'free', role: 'viewer', all_projects: true }],
        ['GET', '/v1/system', undefined],
        ['GET', '/v1/audit-log/head', undefined],
      ] as const) {
        assert.equal((await service().call(method, path, { key: secret, body })).status, 403, path)
      }
      // It can't rotate or revoke the administrator's key either.
      const admin = (await service().call('GET', '/v1/keys/self')).body.data.id
      for (const [method, path] of [
        ['POST', `/v1/keys/${admin}/rotate`],
        ['DELETE', `/v1/keys/${admin}`],
      ] as const) {
        assert.equal((await service().call(method, path, { key: secret, body: {} })).status, 404, path)
      }
      assert.equal((await shop.call('DELETE', `/v1/keys/${id}`)).status, 200)
    })

    test('a key with access to all projects chooses one with each request; a missing project is 400', async () => {
      await newProject(service(), 'chosen')
      const { secret } = await createKey(service(), { role: 'admin' })
      const listed = (headers: Record<string, string>) => service().call('GET', '/v1/agents', { key: secret, headers })
      assert.deepEqual(namesOf(await listed({ 'Moorage-Project': 'chosen' })), [])
      assert.ok(namesOf(await listed({})).includes('hello'))
      const gone = await listed({ 'Moorage-Project': 'gone' })
      assert.deepEqual(fieldsOf(gone.body), ['Moorage-Project'])
      const viewer = await createKey(service(), { role: 'viewer' })
      const self = await service().call('GET', '/v1/keys/self', { key: viewer.secret })
      assert.partialDeepStrictEqual(self.body.data, { reach: 'project', project_id: 'prj_default' })
    })

    test('a key that is refused in several projects gets an entry in the audit log of each', async () => {
      const { id, secret: key } = await createKey(service(), { role: 'viewer', all_projects: true })
      const refusing = []
      for (const name of ['no-one', 'no-two', 'no-three']) refusing.push(await newProject(service(), name))
      for (const project of refusing) {
        assert.equal((await project.call('POST', '/v1/agents', { key, body: { name: 'none' } })).status, 403)
      }
      for (const project of refusing) {
        await until('the log tells it', async () => {
          const { body } = await project.call('GET', `/v1/audit-log?outcome=refused&actor=${id}`)
          return body.data.length === 1
        })
      }
    })

    test('a webhook of a whole project receives only events of its agents', async (t) => {
      const [one, two] = [await newProject(service(), 'hook-one'), await newProject(service(), 'hook-two')]
      const inbox = await openInbox(t)
      const hook = { url: inbox.url, events: ['agent.completed'] }
      assert.equal((await one.call('POST', '/v1/webhooks', { body: hook })).status, 201)
      for (const project of [two, one]) {
        const agent = await createAgent(project, 'teller')
        await project.call('POST', `/v1/agents/${agent}/invoke`, { body: { message: 'go' } })
      }
      const [arrival] = await inbox.first(1)
      const { body } = await one.call('GET', '/v1/agents/teller')
      assert.equal(JSON.parse(arrival?.body ?? '').agent_id, body.data.id)
      assert.equal(inbox.arrivals.length, 1)
    })

    test('an agent moves with its history, its keys and its webhooks', async () => {
      const [from, to] = [await newProject(service(), 'move-from'), await newProject(service(), 'move-to')]
      const agent = await createAgent(from, 'mover')
      const { secret } = await createKey(from, { role: 'developer', agent_id: agent })
      const projectOf = async () => (await service().call('GET', '/v1/keys/self', { key: secret })).body.data.project_id
      assert.equal(await projectOf(), await idOf(service(), 'move-from'))
      await from.call('POST', `/v1/agents/${agent}/invoke`, { body: { message: 'before', context: { user_id: 'u' } } })
      const hook = { agent_id: agent, url: `${NOWHERE}/`, events: ['agent.failed'] }
      await from.call('POST', '/v1/webhooks', { body: hook })
      const moved = await from.call('POST', '/v1/agents/mover/move', { body: { project: 'move-to' } })
      assert.deepEqual(moved.body.data, { id: agent, project_id: await idOf(service(), 'move-to'), revoked_keys: [] })
      assert.equal((await from.call('GET', '/v1/agents/mover')).status, 404)
      assert.equal((await from.call('GET', '/v1/webhooks')).body.pagination.total, 0)
      assert.equal((await to.call('GET', '/v1/webhooks')).body.pagination.total, 1)
      assert.equal((await to.call('GET', '/v1/agents/mover/invocations')).body.pagination.total, 1)
      assert.equal((await to.call('GET', `/v1/agents/${agent}/memory`)).body.pagination.total, 2)
      assert.equal(await projectOf(), await idOf(service(), 'move-to'))
      assert.equal((await service().call('GET', '/v1/agents/mover', { key: secret })).status, 200)
      await createAgent(from, 'mover')
      const taken = await from.call('POST', '/v1/agents/mover/move', { body: { project: 'move-to' } })
      assert.equal(taken.status, 409, taken.text)
    })

    test("can't be deleted without meeting its agents' security settings: IP addresses and one-time codes", async () => {
      const { id: key_id, secret: key } = await createKey(service(), { role: 'admin' })
      const app = await enrol(service(), key_id)
      const guarded = async (name: string, security: object) => {
        const { body } = await service().call('POST', '/v1/projects', { body: { name } })
        await createAgent(inProject(service(), body.data.id), 'vault', { security })
        return (headers = {}) => service().call('DELETE', `/v1/projects/${name}?name=${name}`, { key, headers })
      }
      const walled = await guarded('walled', { ipWhitelist: { enabled: true, addresses: ['10.9.9.9'] } })
      assert.equal((await walled()).status, 403)
      assert.equal((await service().call('GET', '/v1/projects/walled')).status, 200)

      const coded = await guarded('coded', { mfa: { enabled: true, requiredFor: ['delete'] } })
      const { status, body } = await coded()
      assert.deepEqual([status, body.error.code], [401, 'mfa_required'])
      service().advance(600_000)
      const deleted = await coded({ 'X-Service-OTP': app.code() })
      assert.equal(deleted.status, 200, deleted.text)
    })

    test('is deleted with everything in it once its name is typed, and an event is sent', async (t) => {
      const doomed = await newProject(service(), 'doomed')
      const agent = await createAgent(doomed, 'goner')
      const { secret } = await createKey(doomed, { role: 'admin' })
      await doomed.call('POST', `/v1/agents/${agent}/invoke`, { body: { message: 'last words' } })
      await doomed.call('PUT', '/v1/secrets/GONE', { body: { value: 'x', hosts: ['x.example'] } })
      const inbox = await openInbox(t)
      await service().call('POST', '/v1/webhooks', { body: { url: inbox.url, events: ['project.deleted'] } })

      const wrong = await service().call('DELETE', '/v1/projects/doomed?name=doom')
      assert.deepEqual(fieldsOf(wrong.body), ['name'])
      const id = await idOf(service(), 'doomed')
      const deleted = await service().call('DELETE', '/v1/projects/doomed?name=doomed')
      assert.deepEqual(deleted.body.data, { id, deleted: true })
      assert.equal((await service().call('GET', '/v1/agents', { key: secret })).status, 401)
      assert.equal((await doomed.call('GET', '/v1/agents')).status, 400)
      const [arrival] = await inbox.first(1)
      assert.deepEqual(JSON.parse(arrival?.body ?? '').data, { project_id: id, name: 'doomed' })
      const db = storeOf(service())
      await until('its runs are gone', async () => {
        const { rows } = await db
          .selectFrom('all_invocations')
          .select(({ fn }) => fn.countAll<number>().as('rows'))
          .where('message', '=', 'last words')
          .executeTakeFirstOrThrow()
        return Number(rows) === 0
      })
      assert.equal((await service().call('POST', '/v1/projects', { body: { name: 'doomed' } })).status, 201)
    })

    test('has a limit for all its callers together, which others do not feel', async () => {
      const slow = await newProject(service(), 'slow')
      const body = { limits: { requests_per_minute: 2 } }
      assert.equal((await service().call('PATCH', '/v1/projects/slow', { body })).status, 200)
      const { secret } = await createKey(slow, { role: 'viewer' })
      const statuses: number[] = []
      for (const key of [service().admin, secret, secret]) {
        statuses.push((await slow.call('GET', '/v1/agents', { key })).status)
      }
      assert.deepEqual(statuses, [200, 429, 429])
      const refused = await slow.call('GET', '/v1/agents')
      assert.match(refused.body.error.message, /the project allows 2 requests per minute/)
      assert.equal((await service().call('GET', '/v1/agents')).status, 200)
    })
  },
  LOCAL_RECEIVERS,
)

async function newProject(service: Service, name: string): Promise<Service> {
  const reply = await service.call('POST', '/v1/projects', { body: { name } })
  assert.equal(reply.status, 201, reply.text)
  return inProject(service, name)
}

async function idOf(service: Service, name: string): Promise<string> {
  return (await service.call('GET', `/v1/projects/${name}`)).body.data.id
}
