import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { until } from '../support/running/until.ts'
import { newAgent } from '../support/service/agents.ts'
import { STORY_ENGINES } from '../support/service/service.ts'
import { startWithModel } from '../support/service/with-model.ts'
import { createWebhook, LOCAL_RECEIVERS, openInbox } from '../support/slices/webhooks.ts'

for (const engine of STORY_ENGINES) {
  describe(`deleting an agent, on ${engine}`, () => {
    test("each of its active runs has one event, agent.cancelled, for the project's webhooks", async (t) => {
      const { service, model, stop } = await startWithModel(engine, LOCAL_RECEIVERS)
      t.after(stop)
      const inbox = await openInbox(t)
      const events = ['agent.completed', 'agent.failed', 'agent.cancelled']
      await createWebhook(service, { url: inbox.url, events })
      const tools = [{ type: 'ask_person' }]
      const agent = await newAgent(service, { model: 'local/tiny', tools, limits: { max_concurrency: 1 } })
      const path = `/v1/agents/${agent}`
      const start = async (message: string, status: string) => {
        const headers = { Prefer: 'respond-async' }
        const { body } = await service.call('POST', `${path}/invoke`, { headers, body: { message } })
        const run = `${path}/invocations/${body.data.request_id}`
        await until(`it is ${status}`, async () => (await service.call('GET', run)).body.data.status === status)
        return body.data.request_id as string
      }
      model.reply({ calls: [{ name: 'ask_person', arguments: { question: 'Why?' } }] })
      const waiting = await start('one', 'waiting')
      const answered = Promise.withResolvers<void>()
      model.holdNext(answered.promise)
      const running = await start('two', 'running')
      const queued = await start('three', 'queued')
      assert.equal((await service.call('DELETE', path)).status, 200)
      answered.resolve()
      const arrivals = await inbox.first(3)
      const told = (all: readonly { body: string }[]) =>
        all.map(({ body }) => {
          const { type, agent_id, data } = JSON.parse(body)
          return [data.request_id, type, agent_id, data.status, data.error.code]
        })
      const expected = [waiting, running, queued].map((id) => [id, 'agent.cancelled', agent, 'cancelled', 'conflict'])
      assert.deepEqual(told(arrivals).toSorted(), expected.toSorted())
      // Another event would arrive before this one.
      const other = await newAgent(service, { model: 'builtin/echo' })
      await service.call('POST', `/v1/agents/${other}/invoke`, { body: { message: 'last' } })
      const [last] = (await inbox.first(4)).slice(3)
      assert.equal(JSON.parse(last?.body ?? '').agent_id, other)
    })
  })
}
