import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { ChatOpenAI } from '@langchain/openai'
import { openaiClient } from '../support/clients/openai.ts'
import type { ModelServer } from '../support/outside/model-server.ts'
import { until } from '../support/running/until.ts'
import { ANY_ENGINE, type Service } from '../support/service/service.ts'
import { startWithModel } from '../support/service/with-model.ts'

const parameters = { type: 'object' as const, properties: { city: { type: 'string' as const } } }
const WEATHER = { type: 'function' as const, name: 'weather', description: 'The weather', inputSchema: parameters }

/** The AI SDK checks the shape of every reply and of every piece of a stream. */
type LanguageModel = ReturnType<ReturnType<typeof createOpenAI>['chat']>
type Prompt = Parameters<LanguageModel['doGenerate']>[0]['prompt']

for (const engine of ANY_ENGINE) {
  describe(`other clients of OpenAI's API on ${engine}`, () => {
    let service: Service
    let model: ModelServer
    let stop: () => Promise<void>

    before(async () => {
      ;({ service, model, stop } = await startWithModel(engine))
      const body = { name: 'tiny', model: 'local/tiny' }
      assert.equal((await service.call('POST', '/v1/agents', { body })).status, 201)
    })
    after(() => stop())

    const access = () => ({ baseURL: `${service.url}/v1`, apiKey: service.admin })
    const clients: Record<string, () => LanguageModel> = {
      '@ai-sdk/openai, chat': () => createOpenAI(access()).chat('tiny'),
      '@ai-sdk/openai, responses': () => createOpenAI(access()).responses('tiny') as LanguageModel,
      '@ai-sdk/openai-compatible': () =>
        createOpenAICompatible({ name: 'moorage', includeUsage: true, ...access() }).chatModel('tiny'),
    }
    const prompt: Prompt = [{ role: 'user', content: [{ type: 'text', text: 'Can I sail?' }] }]

    for (const [name, open] of Object.entries(clients)) {
      test(`${name}: generates and streams`, async () => {
        model.reset()
        const { content, usage, finishReason } = await open().doGenerate({ prompt })
        assert.equal(content.map((part) => (part.type === 'text' ? part.text : '')).join(''), 'Can I sail?')
        assert.equal(finishReason.unified, 'stop')
        assert.ok(usage.inputTokens.total)
        const { stream } = await open().doStream({ prompt })
        let text = ''
        for await (const part of stream) {
          assert.notEqual(part.type, 'error', JSON.stringify(part))
          if (part.type === 'text-delta') text += part.delta
        }
        assert.equal(text, 'Can I sail?')
      })

      test(`${name}: calls a tool and continues with its result`, async () => {
        model.reset()
        model.reply({ calls: [{ name: 'weather', arguments: { city: 'Kiel' } }] }, { text: ['Yes, sunny.'] })
        const { stream } = await open().doStream({ prompt, tools: [WEATHER] })
        let call: { toolCallId: string; toolName: string; input: string; providerMetadata?: object } | undefined
        for await (const part of stream) if (part.type === 'tool-call') call = part
        assert.deepEqual([call?.toolName, call?.input], ['weather', '{"city":"Kiel"}'])
        const { toolCallId, toolName } = call ?? { toolCallId: '', toolName: '' }
        const meta = call?.providerMetadata ? { providerOptions: call.providerMetadata as never } : {}
        const output = { type: 'text' as const, value: 'sunny' }
        const answer = await open().doGenerate({
          tools: [WEATHER],
          prompt: [
            ...prompt,
            {
              role: 'assistant',
              content: [{ type: 'tool-call', toolCallId, toolName, input: { city: 'Kiel' }, ...meta }],
            },
            { role: 'tool', content: [{ type: 'tool-result', toolCallId, toolName, output }] },
          ],
        })
        assert.equal(answer.content.map((part) => (part.type === 'text' ? part.text : '')).join(''), 'Yes, sunny.')
        const shown = model.requests[1]?.body.messages ?? []
        assert.deepEqual(
          shown.map(({ role, content }) => [role, content ?? '']),
          [
            ['user', 'Can I sail?'],
            ['assistant', ''],
            ['tool', 'sunny'],
          ],
        )
      })
    }

    test('the official client does not begin a run again that has failed: each try would be paid', async () => {
      const client = openaiClient(service, { maxRetries: 2 })
      for (const [name, limits] of Object.entries({ steady: {}, hasty: { timeout_ms: 1_000 } })) {
        const body = { name, model: 'local/tiny', limits: { max_steps: 1, ...limits } }
        assert.equal((await service.call('POST', '/v1/agents', { body })).status, 201)
      }
      const ask = (agent = 'steady') =>
        client.chat.completions.create({ model: agent, messages: [{ role: 'user', content: 'Go' }] })
      model.reset()
      model.reply({ status: 400 })
      await assert.rejects(ask(), { status: 500 })
      assert.equal(model.requests.length, 1, 'the model has refused it')
      // The machine may be so busy that the time is over before the model is asked.
      await until('a run that has asked its model', async () => {
        model.reset()
        model.reply({ breaks: 'silence' })
        await assert.rejects(ask('hasty'), { status: 504 })
        return model.requests.length
      })
      assert.equal(model.requests.length, 1, 'it took too long')
      model.reset()
      const { id } = (await service.call('GET', '/v1/agents/steady')).body.data
      const budget = { name: 'b', scope: { type: 'agent', id }, limit: { runs: 1 }, per: 'month' }
      await service.call('POST', '/v1/budgets', { body: budget })
      await ask()
      const began = (await service.call('GET', '/v1/agents/steady/invocations')).body.pagination.total
      await assert.rejects(ask(), { status: 429 })
      const begun = (await service.call('GET', '/v1/agents/steady/invocations')).body.pagination.total
      assert.equal(begun - began, 1, 'a budget has no room for a month')
    })

    test('@langchain/openai: invokes, streams and calls a tool', async () => {
      const { baseURL, apiKey } = access()
      const chat = new ChatOpenAI({ model: 'tiny', apiKey, maxRetries: 0, configuration: { baseURL } })
      assert.equal((await chat.invoke('Ahoy')).text, 'Ahoy')
      let streamed = ''
      for await (const chunk of await chat.stream('Ahoy again')) streamed += chunk.text
      assert.equal(streamed, 'Ahoy again')
      model.reset()
      model.reply({ calls: [{ name: 'weather', arguments: { city: 'Kiel' } }] }, { text: ['Sunny.'] })
      const bound = chat.bindTools([{ type: 'function', function: { name: 'weather', description: '', parameters } }])
      const asked = { role: 'user', content: 'Can I sail?' } as const
      const first = await bound.invoke([asked])
      const call = first.tool_calls?.[0]
      assert.deepEqual([call?.name, call?.args], ['weather', { city: 'Kiel' }])
      const result = { role: 'tool', tool_call_id: call?.id ?? '', content: 'sunny' } as const
      assert.equal((await bound.invoke([asked, first, result])).text, 'Sunny.')
    })
  })
}
