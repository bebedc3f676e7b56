import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { operations } from '../../src/operations.ts'
import { pathOf, SAMPLE_SETTINGS, sampleBody } from '../support/clients/requests.ts'
import { JWT_SETTINGS, signJwt } from '../support/outside/tokens.ts'
import { onAnyEngine } from '../support/service/service.ts'
import { createAgent, createKey } from '../support/slices/resources.ts'

/** All operations that a key with only the permission `invoke` can call. */
const FOR_CALLERS = new Set([
  'invokeAgent',
  'listInvocations',
  'getInvocation',
  'streamInvocation',
  'cancelInvocation',
  'listApprovals',
  'getApproval',
  'giveFeedback',
  'getFeedback',
  'deleteFeedback',
  'listFeedback',
  'createConnectionLink',
  'confirmConnectionLink',
  'listGrants',
  'listConnectedApplications',
  'revokeConnectedApplication',
  'revokeGrant',
  'createCallback',
  'listCallbacks',
  'getCallback',
  'deleteCallback',
  'getSelf',
  'listInvocable',
  'createConsoleLink',
  'createFile',
  'getFile',
  'getFileContent',
  'listFiles',
])

onAnyEngine(
  'callers',
  (service) => {
    let one: string
    let other: string
    const agent = '/v1/agents/slow'
    const call = (key: string, method: string, path: string, body?: unknown, headers = {}) =>
      service().call(method, path, { key, body, headers })
    const invoke = async (key: string, message = 'hi', headers = {}) => {
      const reply = await call(key, 'POST', `${agent}/invoke`, { message }, headers)
      assert.ok(reply.status === 200 || reply.status === 202, reply.text)
      return reply.body.data.request_id as string
    }
    const missing = (id: string) => ({ code: 'not_found', message: `Invocation "${id}" not found.` })

    before(async () => {
      const rules = [{ match: { equals: 'wait' }, reply: 'late', delay_ms: 60_000 }, { reply: 'hello' }]
      await createAgent(service(), 'slow', { model: 'builtin/script', script: { rules } })
      one = (await createKey(service(), { role: 'caller', tier: 'enterprise' })).secret
      other = (await createKey(service(), { permissions: ['invoke'], tier: 'enterprise' })).secret
    })

    test('the role caller has only the permission invoke', async () => {
      const { body } = await call(one, 'GET', '/v1/keys/self')
      assert.deepEqual(body.data.permissions, ['invoke'])
    })

    test('403 on every operation except those on runs that it started', async () => {
      for (const operation of operations) {
        const reply = await call(one, operation.method, pathOf(operation), sampleBody(operation))
        assert.equal(reply.status === 403, !FOR_CALLERS.has(operation.id), `${operation.id}: ${reply.text}`)
      }
    })

    test('lists the agents that it can invoke; a key limited to one agent sees only that one', async () => {
      const id = await createAgent(service(), 'guide', { description: 'Shows the way' })
      const { body } = await call(one, 'GET', '/v1/keys/self/agents?sort=name')
      assert.deepEqual(
        body.data.map(({ name }: { name: string }) => name),
        ['guide', 'hello', 'slow'],
      )
      const { secret } = await createKey(service(), { role: 'caller', agent_id: id })
      const { body: scoped } = await call(secret, 'GET', '/v1/keys/self/agents')
      const [{ created_at: _, ...shown }] = scoped.data
      assert.deepEqual(shown, {
        id,
        name: 'guide',
        status: 'running',
        description: 'Shows the way',
        output_schema: null,
      })
      assert.equal(scoped.pagination.total, 1)
    })

    test('can invoke agents, and read, list and follow its own runs', async () => {
      const id = await invoke(one)
      const receipt = await call(one, 'GET', `${agent}/invocations/${id}`)
      assert.deepEqual([receipt.status, receipt.body.data?.response], [200, 'hello'])
      const followed = await call(one, 'GET', `${agent}/invocations/${id}/stream`)
      assert.equal(followed.status, 200)
      assert.match(followed.text, /event: done/)
      const listed = await call(one, 'GET', `${agent}/invocations`)
      assert.deepEqual([listed.body.data[0].request_id, listed.body.pagination.total], [id, listed.body.data.length])
      assert.equal((await call(one, 'POST', `${agent}/invocations/${id}/cancel`)).status, 409)
    })

    test('404 for the runs of others when it gets, follows or cancels them, and they are not in its list', async () => {
      for (const starter of [other, service().admin]) {
        const id = await invoke(starter)
        for (const [method, path] of [
          ['GET', ''],
          ['GET', '/stream'],
          ['POST', '/cancel'],
        ] as const) {
          const reply = await call(one, method, `${agent}/invocations/${id}${path}`)
          assert.equal(reply.status, 404, `${path}: ${reply.text}`)
          assert.deepEqual(reply.body.error, missing(id))
        }
        const { body } = await call(one, 'GET', `${agent}/invocations?limit=100`)
        const ids = body.data.map(({ request_id }: { request_id: string }) => request_id)
        assert.ok(!ids.includes(id))
        assert.equal(body.pagination.total, ids.length)
      }
    })

    test('can cancel its own run while it is active, but no one else’s', async () => {
      const background = { Prefer: 'respond-async' }
      const mine = await invoke(one, 'wait', background)
      const theirs = await invoke(other, 'wait', background)
      assert.equal((await call(one, 'POST', `${agent}/invocations/${theirs}/cancel`)).status, 404)
      const followed = await call(one, 'GET', `${agent}/invocations/${theirs}/stream`)
      assert.equal(followed.status, 404)
      for (const [key, id] of [
        [one, mine],
        [other, theirs],
      ] as const) {
        const cancelled = await call(key, 'POST', `${agent}/invocations/${id}/cancel`)
        assert.deepEqual([cancelled.status, cancelled.body.data?.status], [200, 'cancelled'], cancelled.text)
      }
    })

    test('can cancel its own run even before the run is stored', async () => {
      const headers = {
        Authorization: `Bearer ${one}`,
        Accept: 'text/event-stream',
        'Content-Type': 'application/json',
      }
      const body = JSON.stringify({ message: 'wait' })
      const response = await fetch(`${service().url}${agent}/invoke`, { method: 'POST', headers, body })
      const { value } = (await response.body?.getReader().read()) ?? {}
      const [id] = /req_[0-9A-Z]+/.exec(new TextDecoder().decode(value)) ?? []
      assert.equal((await call(other, 'POST', `${agent}/invocations/${id}/cancel`)).status, 404)
      const cancelled = await call(one, 'POST', `${agent}/invocations/${id}/cancel`)
      assert.deepEqual([cancelled.status, cancelled.body.data?.status], [200, 'cancelled'], cancelled.text)
    })

    test("with the permission read, it can read others' runs but not cancel them", async () => {
      const { secret } = await createKey(service(), { permissions: ['read', 'invoke'] })
      const id = await invoke(other, 'wait', { Prefer: 'respond-async' })
      assert.equal((await call(secret, 'GET', `${agent}/invocations/${id}`)).status, 200)
      assert.equal((await call(secret, 'POST', `${agent}/invocations/${id}/cancel`)).status, 404)
      assert.equal((await call(service().admin, 'POST', `${agent}/invocations/${id}/cancel`)).status, 200)
    })

    describe('write includes invoke', () => {
      test("a key with write can invoke agents; a viewer can't", async () => {
        const writer = await createKey(service(), { permissions: ['write'] })
        await invoke(writer.secret)
        const viewer = await createKey(service(), { role: 'viewer' })
        const { status, body } = await call(viewer.secret, 'POST', `${agent}/invoke`, { message: 'hi' })
        assert.deepEqual([status, body.error.code], [403, 'forbidden'])
      })

      test("a key with write can grant invoke, but a key with invoke can't grant write", async () => {
        const grant = async (held: string[], wanted: string[]) => {
          const { secret } = await createKey(service(), { permissions: [...held, 'manage'] })
          return (await call(secret, 'POST', '/v1/keys', { name: 'granted', permissions: wanted })).status
        }
        assert.equal(await grant(['write'], ['invoke']), 201)
        assert.equal(await grant(['invoke'], ['invoke']), 201)
        assert.equal(await grant(['invoke'], ['write']), 403)
        assert.equal(await grant(['read'], ['invoke']), 403)
      })
    })

    describe('a token', () => {
      test('with only the permission invoke, or the role caller, can invoke agents and do nothing else', async () => {
        for (const claims of [{ permissions: ['invoke'] }, { role: 'caller' }]) {
          const token = await signJwt(claims)
          const id = await invoke(token)
          assert.equal((await call(token, 'GET', `${agent}/invocations/${id}`)).status, 200)
          assert.equal((await call(token, 'PATCH', agent, { temperature: 1 })).status, 403)
          assert.equal((await call(token, 'GET', agent)).status, 403)
          assert.equal((await call(token, 'POST', `${agent}/memory/search`, { query: 'x' })).status, 403)
        }
      })

      test("can't see runs of the same subject with another user", async () => {
        const [ada, bob] = await Promise.all(
          ['ada', 'bob'].map((user_id) => signJwt({ sub: 'the-app', user_id, role: 'caller' })),
        )
        const id = await invoke(ada as string)
        assert.equal((await call(ada as string, 'GET', `${agent}/invocations/${id}`)).status, 200)
        assert.equal((await call(bob as string, 'GET', `${agent}/invocations/${id}`)).status, 404)
        const { body } = await call(bob as string, 'GET', `${agent}/invocations`)
        assert.equal(body.pagination.total, 0)
      })
    })
  },
  { ...SAMPLE_SETTINGS, ...JWT_SETTINGS },
)
