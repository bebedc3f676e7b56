import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { fieldsOf } from '../support/clients/refusal.ts'
import { LOCAL_TOOLS, startLocalServer } from '../support/outside/local-server.ts'
import type { ModelServer, SeenRequest } from '../support/outside/model-server.ts'
import { JWT_SETTINGS, signJwt } from '../support/outside/tokens.ts'
import { newAgent } from '../support/service/agents.ts'
import { ANY_ENGINE, type Service } from '../support/service/service.ts'
import { startWithModel } from '../support/service/with-model.ts'
import { writeMemory } from '../support/slices/memory.ts'
import { createKey } from '../support/slices/resources.ts'

type Message = { role: string; content: string; characters: number; calls?: { name: string }[]; name?: string }

for (const engine of ANY_ENGINE) {
  describe(`GET …/invocations/{request_id}/prompt, on ${engine}`, () => {
    let service: Service
    let model: ModelServer
    let stop: () => Promise<void>
    let tool: Awaited<ReturnType<typeof startLocalServer>>
    before(async () => {
      tool = await startLocalServer((_, response) => response.end('fog until noon'))
      ;({ service, model, stop } = await startWithModel(engine, {
        ...LOCAL_TOOLS,
        ...JWT_SETTINGS,
        MOORAGE_SECRETS: JSON.stringify({ WEATHER: { value: 'the-weather-password', hosts: ['127.0.0.1'] } }),
      }))
    })
    after(async () => {
      await stop()
      await tool.close()
    })

    const say = async (agent: string, message: string, context: object = {}): Promise<string> => {
      const reply = await service.call('POST', `/v1/agents/${agent}/invoke`, { body: { message, context } })
      assert.equal(reply.status, 200, reply.text)
      return reply.body.data.request_id
    }
    const ask = (agent: string, request_id: string, query = '', options = {}) =>
      service.call('GET', `/v1/agents/${agent}/invocations/${request_id}/prompt${query}`, options)
    const promptOf = async (agent: string, request_id: string, query = '') => {
      const reply = await ask(agent, request_id, query)
      assert.equal(reply.status, 200, reply.text)
      return reply.body.data
    }
    const stepsOf = async (agent: string, request_id: string) =>
      (await service.call('GET', `/v1/agents/${agent}/invocations/${request_id}`)).body.data.steps
    const kindsOf = (steps: { kind: string }[]) => steps.map(({ kind }) => kind)
    const textOf = ({ messages }: { messages: Message[] }) => messages.map(({ content }) => content).join('\n')

    /** The same in one form: what the provider received, and what we say it did. */
    const received = (request: SeenRequest | undefined) =>
      request?.body.messages.map(({ role, content, tool_calls = [] }) => [
        role,
        content ?? '',
        tool_calls.map(({ function: { name } }) => name),
      ])
    const told = ({ messages }: { messages: Message[] }) =>
      messages.map(({ role, content, calls = [] }) => [role, content, calls.map(({ name }) => name)])

    test('contains what the model received: instructions, history, memories with scores, context, and earlier rounds', async () => {
      model.reset()
      const agent = await newAgent(service, {
        model: 'local/test-model',
        instructions: 'Be brief.',
        memory: { history: 2, recall: 3 },
        tools: [
          {
            type: 'http',
            name: 'weather',
            url: `${tool.url}/now`,
            headers: { 'X-Password': '{{secret.WEATHER}}' },
          },
        ],
      })
      await writeMemory(service, agent, [{ content: 'Ada sails a red dinghy', context: { user_id: 'ada' } }])
      const context = { user_id: 'ada', session_id: 's1', port: 'Kiel' }
      const first = await say(agent, 'Hello', context)
      assert.deepEqual(kindsOf(await stepsOf(agent, first)), ['model'])
      model.reply(
        { text: ['Let me look.'], calls: [{ name: 'weather', arguments: {} }] },
        { text: ['Not before noon.'] },
      )
      const second = await say(agent, 'Shall I sail my dinghy?', context)

      const steps = await stepsOf(agent, second)
      assert.deepEqual(kindsOf(steps), ['recall', 'model', 'tool', 'model'])
      const { turns, memories, summary } = steps[0]
      assert.deepEqual({ turns, memories, summary }, { turns: 2, memories: 1, summary: false })

      const last = await promptOf(agent, second)
      assert.deepEqual(told(last), received(model.requests.at(-1)))
      assert.equal(last.step, 3)
      assert.equal(last.messages.at(-1).name, 'weather')
      assert.deepEqual(last.notes, [])
      assert.deepEqual(last.tools, [{ type: 'http', name: 'weather' }])
      const [memory] = last.memories
      assert.equal(memory.content, 'Ada sails a red dinghy')
      assert.ok(memory.score > 0 && memory.score <= 1 && memory.shown)
      assert.ok(!JSON.stringify(last).includes('the-weather-password'))

      const earlier = await promptOf(agent, second, '?step=1')
      assert.deepEqual(told(earlier), received(model.requests.at(-2)))
      const refused = await ask(agent, second, '?step=2')
      assert.equal(refused.status, 400)
      assert.deepEqual(fieldsOf(refused.body), ['step'])
    })

    test('lists what did not fit, as the receipt does, and the messages are those that the model received', async () => {
      model.reset()
      const agent = await newAgent(service, { model: 'local/tiny', limits: { max_input_tokens: 900 } })
      const context = { session_id: 'long' }
      for (let i = 1; i <= 4; i += 1) await say(agent, `Message ${i}. `.padEnd(1200, `${i} `), context)
      const request_id = await say(agent, 'And now?', context)
      const prompt = await promptOf(agent, request_id)
      assert.deepEqual(told(prompt), received(model.requests.at(-1)))
      assert.ok(prompt.left_out.turns > 0)
      const step = (await stepsOf(agent, request_id)).at(-1)
      assert.deepEqual(step.left_out, prompt.left_out)
      assert.ok(!('room' in step.left_out))
    })

    test('for a run without memory, is rebuilt from the definition, and notes if the draft has changed', async () => {
      model.reset()
      const agent = await newAgent(service, { model: 'local/test-model', instructions: 'Be kind.' })
      const request_id = await say(agent, 'x'.repeat(30_000))
      const prompt = await promptOf(agent, request_id)
      assert.deepEqual(
        prompt.messages.map(({ role, characters }: Message) => [role, characters]),
        [
          ['system', 8],
          ['user', 30_000],
        ],
      )
      assert.equal(prompt.messages[1].content.length, 20_000)
      service.advance(1_000)
      await service.call('PATCH', `/v1/agents/${agent}`, { body: { instructions: 'Be stern.' } })
      assert.match((await promptOf(agent, request_id)).notes.join(), /^The draft has changed since/)

      await service.call('POST', `/v1/agents/${agent}/deployments`, {
        body: { environment: 'production', version: '1' },
      })
      const deployed = await say(agent, 'Hi')
      service.advance(1_000)
      await service.call('PATCH', `/v1/agents/${agent}`, { body: { instructions: 'Be silent.' } })
      const { notes, messages } = await promptOf(agent, deployed)
      assert.deepEqual([notes, messages[0].content], [[], 'Be stern.'])
    })

    test("names the agent's tools by name or URL, and those that the caller sent", async () => {
      model.reset()
      const definition = {
        model: 'local/test-model',
        tools: [{ type: 'http', name: 'weather', url: `${tool.url}/now` }],
      }
      const agent = await newAgent(service, definition)
      const given = { name: 'berth', parameters: { type: 'object', properties: {} } }
      const { headers, status, text } = await service.call('POST', '/v1/chat/completions', {
        body: {
          model: agent,
          messages: [{ role: 'user', content: 'Where may I moor?' }],
          tools: [{ type: 'function', function: given }],
        },
      })
      assert.equal(status, 200, text)
      const { tools } = await promptOf(agent, headers.get('x-request-id') ?? '')
      assert.deepEqual(tools, [
        { type: 'http', name: 'weather' },
        { type: 'caller', name: 'berth' },
      ])
    })

    test('for a failed model call, contains what was sent', async () => {
      model.reset()
      const agent = await newAgent(service, { model: 'local/test-model', instructions: 'Be kind.' })
      model.reply({ status: 400, body: { error: { message: 'no' } } })
      const reply = await service.call('POST', `/v1/agents/${agent}/invoke`, { body: { message: 'Hi' } })
      assert.equal(reply.status, 500)
      const prompt = await promptOf(agent, reply.headers.get('x-request-id') ?? '')
      assert.deepEqual(told(prompt), received(model.requests.at(-1)))
      assert.equal(prompt.step, 0)
    })

    test('does not contain deleted data: a memory, a user, the text of an invocation', async () => {
      model.reset()
      const agent = await newAgent(service, { model: 'local/test-model' })
      const context = { user_id: 'bob', session_id: 's1' }
      const [written] = await writeMemory(service, agent, [{ content: 'Bob likes knots', context: { user_id: 'bob' } }])
      model.reply({ text: ['Ahoy.'] }, { text: ['All of them.'] })
      await say(agent, 'Hello, I am Bob', context)
      const request_id = await say(agent, 'Which knots?', context)
      assert.match(textOf(await promptOf(agent, request_id)), /Bob likes knots[\s\S]*Which knots\?/)

      await service.call('DELETE', `/v1/agents/${agent}/memory/${written?.['id']}`)
      const without = await promptOf(agent, request_id)
      assert.doesNotMatch(JSON.stringify(without), /likes knots/)
      assert.deepEqual(without.notes, ['Memories that were deleted since and are not shown: 1.'])

      const erased = await service.call('DELETE', '/v1/users/bob')
      assert.equal(erased.status, 200, erased.text)
      const gone = await ask(agent, request_id)
      assert.doesNotMatch(gone.text, /Bob|knots/)
      assert.deepEqual(gone.body.data.notes, ['The content of this invocation has been erased.'])
      assert.deepEqual(gone.body.data.messages, [])
    })

    test("403 for a user's token, which could read the instructions, and for a key of another agent", async () => {
      model.reset()
      const agent = await newAgent(service, { model: 'local/test-model', instructions: 'The hidden rule.' })
      const other = await newAgent(service)
      const request_id = await say(agent, 'Hi', { user_id: 'cara' })
      const { secret: reader } = await createKey(service, { role: 'viewer', agent_id: agent })
      assert.equal((await ask(agent, request_id, '', { key: reader })).status, 200)
      const { secret: foreign } = await createKey(service, { role: 'viewer', agent_id: other })
      const { secret: caller } = await createKey(service, { permissions: ['invoke'], agent_id: agent })
      const user = await signJwt({ user_id: 'cara', permissions: ['read', 'write'] })
      for (const key of [foreign, caller, user]) {
        const refused = await ask(agent, request_id, '', { key })
        assert.equal(refused.status, 403, refused.text)
        assert.doesNotMatch(refused.text, /hidden/)
      }
      assert.equal((await ask(other, request_id)).status, 404)
    })
  })
}
