import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { LOCAL_TOOLS, type LocalServer, startLocalServer } from '../support/outside/local-server.ts'
import type { ModelServer } from '../support/outside/model-server.ts'
import { newAgent } from '../support/service/agents.ts'
import type { Service } from '../support/service/service.ts'
import { startWithModel } from '../support/service/with-model.ts'

/** Providers with this protocol cache prompts that start exactly like an earlier request. */
describe('consecutive prompts for an OpenAI-compatible provider', () => {
  let service: Service
  let model: ModelServer
  let tool: LocalServer
  let stop: () => Promise<void>
  before(async () => {
    ;({ service, model, stop } = await startWithModel('sqlite', LOCAL_TOOLS))
    tool = await startLocalServer((_request, response) => void response.end('free'))
  })
  after(async () => {
    await stop()
    await tool.close()
  })

  test('start with the same instructions, tools and earlier turns, and memories come after them', async () => {
    const agent = await newAgent(service, {
      model: 'local/test-model',
      instructions: 'You run the harbour office.',
      tools: [{ type: 'http', name: 'look_up', url: `${tool.url}/berths` }],
    })
    const say = async (message: string) => {
      model.reset()
      model.reply({ calls: [{ name: 'look_up', arguments: {} }] }, { text: ['It is free.'] })
      const context = { user_id: 'ann', session_id: 'monday' }
      const { status, text } = await service.call('POST', `/v1/agents/${agent}/invoke`, { body: { message, context } })
      assert.equal(status, 200, text)
      return model.requests.map(({ body }) => ({ ...body, messages: body.messages.map((one) => JSON.stringify(one)) }))
    }
    const first = await say('Is the berth by the crane free?')
    // Another session of the same user is recalled from the next turn on.
    const context = { user_id: 'ann', session_id: 'sunday' }
    await service.call('POST', `/v1/agents/${agent}/invoke`, { body: { message: 'My berth has a crane.', context } })
    const second = await say('And the berth behind the crane?')
    const third = await say('The last berth?')

    for (const [one, other] of [first, second, third]) {
      assert.ok(one && other)
      assert.deepEqual(other.messages.slice(0, one.messages.length), one.messages, 'the next round')
      assert.equal(JSON.stringify(other.tools), JSON.stringify(one.tools))
    }
    for (const [one, other] of [
      [first[0], second[0]],
      [second[0], third[0]],
    ]) {
      assert.ok(one && other)
      assert.match(other.messages.at(-1) ?? '', /<memory>/)
      const earlier = one.messages.slice(0, -1)
      assert.deepEqual(other.messages.slice(0, earlier.length), earlier, 'the next turn')
      assert.ok(other.messages.length >= earlier.length + 3)
      assert.equal(JSON.stringify(other.tools), JSON.stringify(one.tools))
    }
    assert.doesNotMatch(first[0]?.messages.at(-1) ?? '', /<memory>/)
  })
})
