import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { DOORS } from '../../support/clients/doors.ts'
import { type ModelServer, startModelServer } from '../../support/outside/model-server.ts'
import { inTime } from '../../support/running/attempts.ts'
import { until } from '../../support/running/until.ts'
import { newAgent } from '../../support/service/agents.ts'
import { startChildService } from '../../support/service/child-service.ts'
import { ANY_ENGINE, type Service } from '../../support/service/service.ts'
import { localProvider, startWithModel } from '../../support/service/with-model.ts'

const REASON = 'too much at once'
const WITHIN_MS = 1_000

describe('a pause on two nodes', () => {
  let one: Service
  let other: Service
  let model: ModelServer
  let stop: () => Promise<void>
  before(async () => {
    ;({ service: one, model, stop } = await startWithModel('postgres'))
    other = await one.beside()
  })
  after(async () => {
    await other.stop()
    await stop()
  })

  test('stops the models of the other node within a second, on every channel, and each run continues later', () =>
    inTime(WITHIN_MS, async () => {
      model.reset()
      const agent = await newAgent(one, { model: 'local/m' })
      const { name } = (await one.call('GET', `/v1/agents/${agent}`)).body.data
      const doors = Object.entries(DOORS)
      const runs = doors.length + 2
      for (let i = 0; i < runs; i++) model.reply({ breaks: 'silence' })
      const answers = doors.map(([, ask]) => ask(other, { agent: name, message: 'go', key: one.admin }).catch(() => {}))
      const invoke = (headers: Record<string, string>) =>
        other.call('POST', `/v1/agents/${agent}/invoke`, { body: { message: 'go' }, headers })
      const keyed = { 'Idempotency-Key': randomUUID() }
      const waiting = invoke(keyed)
      await invoke({ Prefer: 'respond-async' })
      await until('all calls of the model', () => model.requests.length === runs)

      const since = performance.now()
      const paused = await one.call('POST', '/v1/pause', { body: { reason: REASON } })
      assert.equal(paused.status, 200, paused.text)
      const closed = await Promise.all(
        model.requests.map(async (request) => ({ ...(await request.closed), ms: performance.now() - since })),
      )
      const longest = Math.max(...closed.map(({ ms }) => ms))
      assert.ok(closed.every(({ answered }) => !answered))
      assert.equal((await waiting).status, 202)
      await Promise.all(answers)

      const statuses = async () => {
        const { body } = await one.call('GET', `/v1/agents/${agent}/invocations?limit=100`)
        return body.data.map(({ status }: { status: string }) => status)
      }
      await until('all runs to wait', async () => (await statuses()).every((status: string) => status === 'waiting'))
      for (const node of [one, other]) {
        const refused = await node.call('POST', `/v1/agents/${agent}/invoke`, { body: { message: 'go' } })
        assert.ok(refused.body.error.message.endsWith(REASON))
      }
      // A node that starts meanwhile is paused, too.
      const third = await one.beside()
      const refused = await third.call('POST', `/v1/agents/${agent}/invoke`, { body: { message: 'go' } })
      assert.equal(refused.body.error.code, 'agent_paused')
      await third.stop()
      assert.equal(model.requests.length, runs)

      await one.call('POST', '/v1/resume')
      await until('all runs to complete', async () =>
        (await statuses()).every((status: string) => status === 'completed'),
      )
      assert.deepEqual([(await statuses()).length, model.requests.length], [runs, 2 * runs])
      const retried = await invoke(keyed)
      assert.equal((await retried).headers.get('idempotent-replayed'), 'true')
      return longest
    }))
})

for (const engine of ANY_ENGINE) {
  test(`kill -9 during a pause loses nothing, on ${engine}`, async (t) => {
    const model = await startModelServer()
    t.after(() => model.close())
    const service = await startChildService(t, engine, localProvider(model.url))
    const agent = (await service.call('POST', '/v1/agents', { name: 'talker', model: 'local/m' })).data.id
    model.reply({ breaks: 'silence' }, { breaks: 'silence' })
    const path = `/v1/agents/${agent}/invoke`
    const asked = service.send('POST', path, { message: 'one' })
    const queued = await service.call('POST', path, { message: 'two' }, { Prefer: 'respond-async' })
    await until('both calls', () => model.requests.length === 2)
    await service.call('POST', '/v1/pause', { reason: REASON })
    const ids = [(await asked)?.body.data.request_id, queued.data.request_id]
    const receipts = () => Promise.all(ids.map((id) => service.call('GET', `/v1/agents/${agent}/invocations/${id}`)))
    const statuses = async () => (await receipts()).map(({ data }) => data.status)
    await until('both to wait', async () => (await statuses()).every((status) => status === 'waiting'))
    await service.kill()
    await service.start()
    const refused = await service.send('POST', path, { message: 'three' })
    assert.equal(refused?.body.error.code, 'agent_paused')
    assert.deepEqual(await statuses(), ['waiting', 'waiting'])
    await service.call('POST', '/v1/resume', {})
    await until('both to complete', async () => (await statuses()).every((status) => status === 'completed'))
    assert.deepEqual(
      (await receipts()).map(({ data }) => data.response),
      ['one', 'two'],
    )
    assert.equal(model.requests.length, 4)
  })
}
