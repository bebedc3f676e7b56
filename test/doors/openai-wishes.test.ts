import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type OpenAI from 'openai'
import { openaiClient } from '../support/clients/openai.ts'
import type { ModelServer } from '../support/outside/model-server.ts'
import { ANY_ENGINE, type Service } from '../support/service/service.ts'
import { startWithModel } from '../support/service/with-model.ts'
import { createAgent } from '../support/slices/resources.ts'

const WEATHER = {
  name: 'weather',
  description: 'The weather of a city',
  parameters: {
    type: 'object',
    properties: { city: { type: 'string' } },
    required: ['city'],
    additionalProperties: false,
  },
  strict: true,
}

/** Fields that Open Responses requires of every response, beside those of OpenAI's client. */
const OPEN_RESPONSES =
  'id object created_at completed_at status incomplete_details model previous_response_id instructions output error tools tool_choice truncation parallel_tool_calls text top_p presence_penalty frequency_penalty top_logprobs temperature reasoning usage max_output_tokens max_tool_calls store background service_tier metadata safety_identifier prompt_cache_key'.split(
    ' ',
  )
const NUMBERS = ['top_p', 'presence_penalty', 'frequency_penalty', 'top_logprobs', 'temperature']

for (const engine of ANY_ENGINE) {
  describe(`parameters of OpenAI requests, on ${engine}`, () => {
    let service: Service
    let model: ModelServer
    let stop: () => Promise<void>
    let openai: OpenAI
    before(async () => {
      ;({ service, model, stop } = await startWithModel(engine))
      openai = openaiClient(service)
      await createAgent(service, 'tiny', { model: 'local/tiny' })
    })
    after(() => stop())
    const chat = (body: object) =>
      service.call('POST', '/v1/chat/completions', {
        body: { model: 'tiny', messages: [{ role: 'user', content: 'ahoy' }], ...body },
      })
    const respond = (body: object) =>
      service.call('POST', '/v1/responses', { body: { model: 'tiny', input: 'ahoy', ...body } })
    const asked = () => model.requests.at(-1)?.body as ModelServer['requests'][number]['body']

    test('a conversation that starts with an assistant message is sent with that message', async () => {
      const greeting = 'Ahoy! Your booking number is 4711.'
      const messages = [
        { role: 'assistant', content: greeting },
        { role: 'user', content: 'What was my booking number?' },
      ]
      const reply = await chat({ messages })
      assert.equal(reply.status, 200, reply.text)
      assert.deepEqual(asked().messages.slice(1), messages)
      assert.equal(asked().messages[0]?.role, 'user')
    })

    test('both APIs send parallel_tool_calls, strict, reasoning and verbosity to the provider', async () => {
      const tools = [{ type: 'function', function: WEATHER }]
      const wishes = { parallel_tool_calls: false, reasoning_effort: 'low', verbosity: 'high' }
      for (const [call, body] of [
        [chat, { tools, ...wishes }],
        [
          respond,
          {
            tools: [{ type: 'function', ...WEATHER }],
            parallel_tool_calls: false,
            reasoning: { effort: 'low' },
            text: { verbosity: 'high' },
          },
        ],
      ] as const) {
        const { status, text } = await call(body)
        assert.equal(status, 200, text)
        const { parallel_tool_calls, reasoning_effort, verbosity, tools: shown } = asked()
        assert.deepEqual({ parallel_tool_calls, reasoning_effort, verbosity }, wishes)
        assert.deepEqual(shown, tools)
      }
    })

    test('the response does not repeat parameters that a provider might ignore', async () => {
      const { body } = await respond({
        tools: [{ type: 'function', ...WEATHER }],
        parallel_tool_calls: false,
        reasoning: { effort: 'high', summary: 'auto' },
        text: { verbosity: 'low' },
        truncation: 'auto',
      })
      assert.deepEqual(
        [body.reasoning, body.text, body.truncation, body.tools[0].strict, body.parallel_tool_calls],
        [{ effort: null, summary: null }, { format: { type: 'text' } }, 'disabled', false, false],
      )
      assert.deepEqual((await service.call('GET', `/v1/responses/${body.id}`)).body, body)
    })

    test('a response has every field of Open Responses', async () => {
      const { body } = await respond({})
      assert.deepEqual(
        OPEN_RESPONSES.filter((field) => !(field in body)),
        [],
      )
      for (const field of NUMBERS) assert.equal(typeof body[field], 'number', field)
    })

    test('an empty user means no user', async () => {
      for (const call of [chat, respond]) {
        const { status, text } = await call({ user: '' })
        assert.equal(status, 200, text)
      }
      const { body } = await service.call('GET', '/v1/agents/tiny/invocations?limit=2')
      assert.deepEqual(
        body.data.map(({ context }: { context: object }) => context),
        [{}, {}],
      )
      const response = (await respond({ user: '', safety_identifier: 'ada' })).body
      assert.equal('user' in response, false)
      const [latest] = (await service.call('GET', '/v1/agents/tiny/invocations?limit=1')).body.data
      assert.deepEqual(latest.context, { user_id: 'ada' })
    })

    test('cached and reasoning tokens are returned, and are in the receipt', async () => {
      const usage = {
        prompt_tokens: 100,
        completion_tokens: 20,
        prompt_tokens_details: { cached_tokens: 64 },
        completion_tokens_details: { reasoning_tokens: 8 },
      }
      model.reply({ text: ['aye'], usage })
      const completion = await openai.chat.completions.create({
        model: 'tiny',
        messages: [{ role: 'user', content: 'ahoy' }],
      })
      assert.deepEqual(completion.usage, { ...usage, total_tokens: 120 })
      model.reply({ text: ['aye'], usage })
      const { body: response } = await respond({})
      const told = {
        input_tokens: 100,
        input_tokens_details: { cached_tokens: 64, cache_write_tokens: 0 },
        output_tokens: 20,
        output_tokens_details: { reasoning_tokens: 8 },
        total_tokens: 120,
      }
      assert.deepEqual(response.usage, told)
      assert.deepEqual((await service.call('GET', `/v1/responses/${response.id}`)).body.usage, told)
      const [receipt] = (await service.call('GET', '/v1/agents/tiny/invocations?limit=1')).body.data
      assert.deepEqual(receipt.usage, {
        input_tokens: 100,
        output_tokens: 20,
        total_tokens: 120,
        cached_tokens: 64,
        reasoning_tokens: 8,
      })
    })

    test("a provider's 429 becomes 503 with its Retry-After, on every channel", async () => {
      const busy = { status: 429, headers: { 'retry-after': '3600' }, body: { error: { message: 'quota of acme' } } }
      const message = 'Model provider local answered 429: too many requests.'
      const invoke = () => service.call('POST', '/v1/agents/tiny/invoke', { body: { message: 'ahoy' } })
      for (const call of [() => chat({}), () => respond({}), invoke]) {
        model.reply(busy)
        const reply = await call()
        assert.deepEqual([reply.status, reply.headers.get('retry-after')], [503, '3600'], reply.text)
        assert.equal(reply.body.error.message, message)
      }
      const [receipt] = (await service.call('GET', '/v1/agents/tiny/invocations?limit=1')).body.data
      assert.deepEqual(receipt.error, { code: 'unavailable', message, retry_after: 3600 })
    })

    test("after a provider's 400, the error names the provider, the status and the parameter, not the provider's message", async () => {
      for (const error of [
        { message: 'org acme: Unsupported value', param: 'temperature', code: 'unsupported_value' },
        { message: "org acme: 'temperature' does not support 0.2 with this model" },
      ]) {
        model.reply({ status: 400, body: { error } })
        const reply = await chat({ temperature: 0.2 })
        assert.equal(reply.status, 500)
        assert.match(reply.body.error.message, /\blocal\b.*\b400\b.*\btemperature\b/)
      }
    })

    test('400 for a function call without a result', async () => {
      const call = { id: 'call_a', type: 'function', function: { name: 'weather', arguments: '{}' } }
      const calls = { role: 'assistant', content: null, tool_calls: [call, { ...call, id: 'call_b' }] }
      const result = { role: 'tool', tool_call_id: 'call_a', content: 'rain' }
      const ahoy = { role: 'user', content: 'ahoy' }
      for (const messages of [
        [ahoy, calls, result],
        [ahoy, calls, result, { role: 'user', content: 'and now?' }],
      ]) {
        const { status, body } = await chat({ messages })
        assert.deepEqual([status, body.error.param], [400, 'messages'])
      }
      const input = [
        { role: 'user', content: 'ahoy' },
        { type: 'function_call', call_id: 'call_a', name: 'weather', arguments: '{}' },
      ]
      const { status, body } = await respond({ input })
      assert.deepEqual([status, body.error.param], [400, 'input'])

      model.reply({ calls: [{ name: 'weather', arguments: { city: 'Kiel' } }] })
      const { body: called } = await respond({ tools: [{ type: 'function', ...WEATHER }] })
      assert.equal(called.output[0].type, 'function_call')
      const unanswered = await respond({ previous_response_id: called.id })
      assert.deepEqual([unanswered.status, unanswered.body.error.param], [400, 'input'])
    })

    test('input items are listed as the client sent them, in pages, latest first', async () => {
      const input = [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'one' },
        { role: 'assistant', content: 'two' },
        { role: 'user', content: 'three' },
        { type: 'function_call', call_id: 'call_a', name: 'weather', arguments: '{}' },
        { type: 'function_call_output', call_id: 'call_a', output: 'rain' },
      ]
      const { body: response } = await respond({ input, instructions: 'Be kind.' })
      const path = `/v1/responses/${response.id}/input_items`
      const { body: all } = await service.call('GET', `${path}?order=asc`)
      type ListedItem = {
        id: string
        type: string
        role?: string
        content?: { type: string; text: string }[]
        output?: string
      }
      const told = all.data.map(({ type, role, content, output }: ListedItem) => [
        role ?? type,
        content?.[0]?.text ?? output,
      ])
      assert.deepEqual(told, [
        ['system', 'Be brief.'],
        ['user', 'one'],
        ['assistant', 'two'],
        ['user', 'three'],
        ['function_call', undefined],
        ['function_call_output', 'rain'],
      ])
      assert.deepEqual(all.data[2].content, [{ type: 'output_text', text: 'two', annotations: [], logprobs: [] }])
      const ids = all.data.map(({ id }: ListedItem) => id)
      assert.match(ids.join(' '), /^msg_\S+ msg_\S+ msg_\S+ msg_\S+ fc_\S+ fco_\S+$/)
      const listed: string[] = []
      for await (const { id } of openai.responses.inputItems.list(response.id, { limit: 4 })) listed.push(id ?? '')
      assert.deepEqual(listed, ids.toReversed())
      const { body: page } = await service.call('GET', `${path}?limit=4`)
      assert.deepEqual([page.data.length, page.has_more, page.first_id, page.last_id], [4, true, ids[5], ids[2]])
      assert.equal((await service.call('GET', `${path}?after=nothing`)).status, 400)
    })
  })
}
