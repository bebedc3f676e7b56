import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { watchWorld } from '../../support/outside/watched-world.ts'
import { until } from '../../support/running/until.ts'
import { startChildService } from '../../support/service/child-service.ts'
import { endLeases } from '../../support/service/end-leases.ts'
import { ANY_ENGINE, type Reply } from '../../support/service/service.ts'

type RepeatedRequest = { path: string; body: object; headers?: Record<string, string> }

type Way = {
  name: string
  first: RepeatedRequest
  /** The same request, which this time does not want to wait for the answer. */
  retry: RepeatedRequest
  /** What the retry is told. */
  check(reply: Reply, request_id: string): void
}

const message = { messageId: 'm-1', role: 'ROLE_USER', parts: [{ text: 'go' }] }
const rpc = (params: object): RepeatedRequest => ({
  path: '/v1/agents/clerk/a2a',
  body: { jsonrpc: '2.0', id: 1, method: 'SendMessage', params },
  headers: { 'A2A-Version': '1.0' },
})

const WAYS: Way[] = [
  {
    name: 'Prefer: respond-async',
    first: { path: '/v1/agents/clerk/invoke', body: { message: 'go' } },
    retry: { path: '/v1/agents/clerk/invoke', body: { message: 'go' }, headers: { Prefer: 'respond-async' } },
    check({ status, body }, request_id) {
      assert.equal(status, 202)
      assert.equal(body.data.request_id, request_id)
    },
  },
  {
    name: 'background: true on the OpenAI door',
    first: { path: '/v1/responses', body: { model: 'clerk', input: 'go' } },
    retry: { path: '/v1/responses', body: { model: 'clerk', input: 'go', background: true } },
    check: ({ status, body }) => assert.deepEqual([status, body.error.code], [422, 'idempotency_key_reused']),
  },
  {
    name: 'returnImmediately of A2A',
    first: rpc({ message }),
    retry: rpc({ message, configuration: { returnImmediately: true } }),
    check: ({ body }) => assert.match(body.error.message, /already used with a different request/),
  },
]

for (const engine of ANY_ENGINE) {
  describe(`retrying a request with an Idempotency-Key after its process died, on ${engine}`, () => {
    for (const { name, first, retry, check } of WAYS) {
      test(`with ${name}: it continues, and nothing is executed twice`, async (t) => {
        const world = await watchWorld(t, [{ calls: ['write'] }, { text: 'Done.' }])
        const service = await startChildService(t, engine, world.settings)
        const tools = [{ type: 'http', name: 'write', method: 'POST', url: `${world.url}/write` }]
        await service.call('POST', '/v1/agents', { name: 'clerk', model: 'local/tiny', tools })
        const send = ({ path, body, headers }: RepeatedRequest) =>
          service.send('POST', path, body, { 'Idempotency-Key': 'order-1', ...headers })
        const held = world.hold('write')
        const answer = send(first)
        await held
        await service.kill()
        assert.equal(await answer, undefined)
        if (engine === 'postgres') await service.inStore(endLeases)
        await service.start()

        const again = await send(retry)
        const runs = '/v1/agents/clerk/invocations'
        const { data } = await service.call('GET', runs)
        assert.equal(data.length, 1, 'one run')
        assert.ok(again)
        check(again, data[0].request_id)
        await until('the end', async () => (await service.call('GET', runs)).data[0].status === 'completed')
        const { pagination } = await service.call('GET', runs)
        assert.equal(pagination.total, 1)
        assert.deepEqual(world.count('write'), { came: 1, answered: 0 })
        assert.deepEqual(world.count('model 1'), { came: 1, answered: 1 })
      })
    }

    test('POST …/tools/test: the tool is called again under the same Idempotency-Key', async (t) => {
      const world = await watchWorld(t, [])
      const service = await startChildService(t, engine, world.settings)
      await service.call('POST', '/v1/agents', { name: 'clerk' })
      const tool = { type: 'http', name: 'write', method: 'POST', url: `${world.url}/write` }
      const send = () =>
        service.send('POST', '/v1/agents/clerk/tools/test', { tool, call: {} }, { 'Idempotency-Key': 'try-1' })
      for (let kills = 0; kills < 2; kills++) {
        const held = world.hold('write')
        const answer = send()
        await held
        await service.kill()
        assert.equal(await answer, undefined)
        if (engine === 'postgres') await service.inStore(endLeases)
        await service.start()
      }
      assert.equal((await send())?.body.data.result, 'answer of write')
      assert.equal((await send())?.headers.get('idempotent-replayed'), 'true')
      const keys = world.calls.map(({ key }) => key)
      assert.match(keys[0] ?? '', /^req_/)
      assert.deepEqual(keys, Array(3).fill(keys[0]))
    })
  })
}
