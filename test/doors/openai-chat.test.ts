import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { ChatCompletionMessageParam, ChatCompletionTool } from 'openai/resources/chat/completions'
import { gathered, openaiClient } from '../support/clients/openai.ts'
import { LOCAL_TOOLS, type LocalServer, startLocalServer } from '../support/outside/local-server.ts'
import type { ModelServer } from '../support/outside/model-server.ts'
import { ANY_ENGINE, type Service } from '../support/service/service.ts'
import { startWithModel } from '../support/service/with-model.ts'

const WEATHER: ChatCompletionTool = {
  type: 'function',
  function: {
    name: 'weather',
    description: 'The weather of a city',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
}

for (const engine of ANY_ENGINE) {
  describe(`chat completions on ${engine}`, () => {
    let service: Service
    let model: ModelServer
    let stopBoth: () => Promise<void>
    let tools: LocalServer
    let toolCalls = 0

    before(async () => {
      tools = await startLocalServer((_request, response) => {
        toolCalls += 1
        response.end('stock: 7')
      })
      ;({ service, model, stop: stopBoth } = await startWithModel(engine, LOCAL_TOOLS))
      await create({ name: 'echo', instructions: 'Repeat.' })
      const stock = { type: 'http', name: 'stock', url: `${tools.url}/stock`, method: 'POST' }
      await create({ name: 'tiny', model: 'local/tiny', instructions: 'Be brief.', temperature: 1, tools: [stock] })
    })
    after(async () => {
      await stopBoth()
      await tools.close()
    })
    const create = async (body: object) => {
      const reply = await service.call('POST', '/v1/agents', { body })
      assert.equal(reply.status, 201, reply.text)
    }
    const ask = (content: string): ChatCompletionMessageParam[] => [{ role: 'user', content }]
    const receiptOf = async (agent: string, completion: string) =>
      (await service.call('GET', `/v1/agents/${agent}/invocations/req_${completion.slice('chatcmpl-'.length)}`)).body
        .data

    test('returns every field of a completion, and writes a receipt', async () => {
      const { data, response, request_id } = await openaiClient(service)
        .chat.completions.create({ model: 'echo', messages: ask('Ahoy') })
        .withResponse()
      const { id, created, usage, ...rest } = data
      assert.deepEqual(rest, {
        object: 'chat.completion',
        model: 'echo',
        choices: [
          {
            index: 0,
            message: { role: 'assistant', content: 'Ahoy', refusal: null, annotations: [] },
            logprobs: null,
            finish_reason: 'stop',
          },
        ],
      })
      assert.ok(Math.abs(created - Date.now() / 1000) < 60)
      assert.ok(usage && usage.prompt_tokens + usage.completion_tokens === usage.total_tokens)
      assert.equal(response.headers.get('x-request-id'), request_id)
      assert.equal(request_id, `req_${id.slice('chatcmpl-'.length)}`)
      const receipt = await receiptOf('echo', id)
      assert.deepEqual([receipt.door, receipt.status, receipt.message], ['openai', 'completed', 'Ahoy'])
      const logs = await service.call('GET', `/v1/agents/echo/logs?request_id=${request_id}`)
      assert.equal(logs.body.data[0].metadata.door, 'openai')
    })

    test('streams chunks with the role first, and the usage last if requested', async () => {
      const asked = { model: 'echo', messages: ask('one two'), stream: true } as const
      const chunks = await gathered(
        await openaiClient(service).chat.completions.create({ ...asked, stream_options: { include_usage: true } }),
      )
      const choices = chunks.flatMap((chunk) => chunk.choices)
      assert.deepEqual(choices[0]?.delta, { role: 'assistant', content: '', refusal: null })
      assert.equal(choices.map(({ delta }) => delta.content ?? '').join(''), 'one two')
      assert.deepEqual(choices.map(({ finish_reason }) => finish_reason).filter(Boolean), ['stop'])
      assert.equal(new Set(chunks.map(({ id }) => id)).size, 1)
      assert.deepEqual(chunks.at(-1)?.choices, [])
      assert.ok(chunks.at(-1)?.usage?.total_tokens)
      assert.ok(chunks.slice(0, -1).every(({ usage }) => usage === null))
      const raw = await fetch(`${service.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { Authorization: `Bearer ${service.admin}`, 'Content-Type': 'application/json' },
        body: JSON.stringify(asked),
      })
      assert.equal(raw.headers.get('content-type'), 'text/event-stream; charset=utf-8')
      const text = await raw.text()
      assert.ok(text.endsWith('data: [DONE]\n\n'), text)
      assert.ok(!text.includes('"usage"'))
    })

    test("sends the caller's history, further instructions and sampling to the model", async () => {
      model.reset()
      model.reply({ text: ['{"ok":true}'] })
      await openaiClient(service).chat.completions.create({
        model: 'tiny@staging',
        messages: [
          { role: 'system', content: 'Answer as JSON.' },
          { role: 'user', content: [{ type: 'text', text: 'first' }] },
          { role: 'assistant', content: 'second' },
          { role: 'developer', content: 'Shortly.' },
          { role: 'user', content: 'third' },
        ],
        temperature: 0.2,
        top_p: 0.5,
        max_completion_tokens: 9,
        stop: 'END',
        seed: 4,
      })
      const { body } = model.requests[0] ?? {}
      assert.deepEqual(body?.messages, [
        { role: 'system', content: 'Be brief.\n\nAnswer as JSON.\n\nShortly.' },
        { role: 'user', content: 'first' },
        { role: 'assistant', content: 'second' },
        { role: 'user', content: 'third' },
      ])
      const { temperature, top_p, max_tokens, stop, seed } = body ?? {}
      assert.deepEqual([temperature, top_p, max_tokens, stop, seed], [0.2, 0.5, 9, ['END'], 4])
      const { body: found } = await service.call('GET', '/v1/agents/tiny/invocations?limit=1')
      assert.equal(found.data[0].environment, 'staging')
    })

    test("a call of the caller's tool ends the answer, and results of the agent's own tools are neither lost nor repeated", async () => {
      model.reset()
      toolCalls = 0
      model.reply(
        {
          text: ['Let me see.'],
          calls: [
            { name: 'stock', arguments: {} },
            { name: 'weather', arguments: { city: 'Kiel' } },
          ],
        },
        { text: ['Sunny, and 7 left.'] },
      )
      const client = openaiClient(service)
      const messages = ask('Can I sail?')
      const first = await client.chat.completions.create({ model: 'tiny', messages, tools: [WEATHER] })
      const [choice] = first.choices
      assert.equal(choice?.finish_reason, 'tool_calls')
      assert.equal(choice?.message.content, 'Let me see.')
      assert.equal(choice?.message.tool_calls?.length, 1)
      const [call] = choice?.message.tool_calls ?? []
      assert.ok(call?.type === 'function')
      assert.deepEqual([call.function.name, call.function.arguments], ['weather', '{"city":"Kiel"}'])
      assert.equal(toolCalls, 1)
      const offered = model.requests[0]?.body.tools?.map((tool) => tool.function.name)
      assert.deepEqual(offered, ['stock', 'weather'])
      const receipt = await receiptOf('tiny', first.id)
      assert.deepEqual(receipt.calls, [{ id: 'call_2', name: 'weather', arguments: { city: 'Kiel' } }])

      const result = { role: 'tool', tool_call_id: call.id, content: 'sunny' } as const
      const said = choice?.message as ChatCompletionMessageParam
      const asked = { model: 'tiny', messages: [...messages, said, result], tools: [WEATHER] }
      const second = await client.chat.completions.create(asked)
      assert.equal(second.choices[0]?.message.content, 'Sunny, and 7 left.')
      assert.equal(toolCalls, 1, 'its own tool was called once')
      const shown = model.requests[1]?.body.messages ?? []
      assert.deepEqual(
        shown.map(({ role }) => role),
        ['system', 'user', 'assistant', 'tool', 'tool'],
      )
      assert.deepEqual(
        shown[2]?.tool_calls?.map((one) => one.function.name),
        ['stock', 'weather'],
      )
      assert.deepEqual([shown[3]?.content, shown[4]?.content], ['stock: 7', 'sunny'])
    })

    test("a caller can't set the result of the agent's own tool", async () => {
      model.reset()
      const calls = [
        { name: 'stock', arguments: {} },
        { name: 'weather', arguments: { city: 'Kiel' } },
      ]
      model.reply({ calls }, { text: ['7 left.'] })
      const client = openaiClient(service)
      const asked = { model: 'tiny', tools: [WEATHER] }
      const first = await client.chat.completions.create({ ...asked, messages: ask('How many?') })
      const [call] = first.choices[0]?.message.tool_calls ?? []
      assert.match(call?.id ?? '', /_1$/)
      // The id of a call ends with its position: this is the call of the agent's own tool.
      const own = String(call?.id).replace(/1$/, '0')
      const answers = { [own]: 'stock: 9999', [String(call?.id)]: 'sunny' }
      const made = (id: string) => ({ id, type: 'function' as const, function: { name: 'weather', arguments: '{}' } })
      const messages: ChatCompletionMessageParam[] = [
        ...ask('How many?'),
        { role: 'assistant', content: null, tool_calls: Object.keys(answers).map(made) },
        ...Object.entries(answers).map(([tool_call_id, content]) => ({ role: 'tool' as const, tool_call_id, content })),
      ]
      await client.chat.completions.create({ ...asked, messages })
      const results = model.requests[1]?.body.messages.filter(({ role }) => role === 'tool')
      assert.deepEqual(
        results?.map(({ content }) => content),
        ['stock: 7', 'sunny'],
      )
    })

    test('streams tool calls with their index', async () => {
      model.reset()
      const calls = ['Kiel', 'Bergen'].map((city) => ({ name: 'weather', arguments: { city } }))
      model.reply({ calls })
      const stream = openaiClient(service).chat.completions.stream({
        model: 'tiny',
        messages: ask('?'),
        tools: [WEATHER],
      })
      const { choices } = await stream.finalChatCompletion()
      const made = choices[0]?.message.tool_calls?.map((call) => call.type === 'function' && call.function.arguments)
      assert.deepEqual(made, ['{"city":"Kiel"}', '{"city":"Bergen"}'])
      assert.equal(choices[0]?.finish_reason, 'tool_calls')
    })

    test('a cut answer has finish_reason "length"', async () => {
      const asked = { model: 'echo', messages: ask('a long answer that is cut'), max_tokens: 2 }
      const { choices } = await openaiClient(service).chat.completions.create(asked)
      assert.deepEqual([choices[0]?.message.content, choices[0]?.finish_reason], ['a long a', 'length'])
    })

    test('a request repeated with its Idempotency-Key gets the same answer, whole or as a stream', async () => {
      const client = openaiClient(service)
      const headers = { 'Idempotency-Key': `again-${engine}` }
      const asked = { model: 'echo', messages: ask('once') }
      const first = await client.chat.completions.create(asked, { headers })
      assert.deepEqual(await client.chat.completions.create(asked, { headers }), first)
      const streamed = { ...asked, stream: true } as const
      const key = { headers: { 'Idempotency-Key': `stream-${engine}` } }
      const [one, two] = [
        await gathered(await client.chat.completions.create(streamed, key)),
        await gathered(await client.chat.completions.create(streamed, key)),
      ]
      const text = (chunks: typeof one) => chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('')
      assert.deepEqual([text(two), two[0]?.id], [text(one), one[0]?.id])
    })

    test('memory belongs to the user and session in the request', async () => {
      const asked = { model: 'echo', messages: ask('My boat is red'), user: 'ann', metadata: { session_id: 's1' } }
      await openaiClient(service).chat.completions.create(asked)
      const { body } = await service.call('GET', '/v1/agents/echo/memory?user_id=ann')
      assert.deepEqual(
        body.data.map((memory: { session_id: string }) => memory.session_id),
        ['s1', 's1'],
      )
    })

    test("an erased user's text is deleted from stored answers", async () => {
      const headers = { 'Idempotency-Key': `erased-${engine}` }
      const asked = { model: 'echo', messages: ask('my secret'), user: 'eve' }
      const client = openaiClient(service)
      await client.chat.completions.create(asked, { headers })
      assert.equal((await service.call('DELETE', '/v1/users/eve')).body.data.replies, 1)
      const erased = { status: 404, message: '404 The stored reply for this Idempotency-Key has been erased.' }
      await assert.rejects(client.chat.completions.create(asked, { headers }), erased)
    })

    test('400 for unsupported parameters, naming each', async () => {
      const client = openaiClient(service)
      const audio = { type: 'input_audio', input_audio: { data: '', format: 'mp3' } } as const
      const tool = { type: 'function', function: { name: 'a' } }
      const cases: [object, string, string][] = [
        [{ n: 2 }, 'n', 'unsupported_parameter'],
        [{ logprobs: true }, 'logprobs', 'unsupported_parameter'],
        [{ modalities: ['audio'] }, 'modalities', 'unsupported_parameter'],
        [{ messages: [{ role: 'user', content: [audio] }] }, 'messages[0].content[0].type', 'unsupported_parameter'],
        [{ messages: [{ role: 'assistant', content: 'x' }] }, 'messages', 'invalid_value'],
        [{ messages: undefined }, 'messages', 'invalid_value'],
        [{ temperature: 3 }, 'temperature', 'invalid_value'],
        [{ tool_choice: 'required' }, 'tool_choice', 'invalid_value'],
        [{ tools: [tool], tool_choice: { type: 'function', function: { name: 'b' } } }, 'tool_choice', 'invalid_value'],
      ]
      for (const [more, param, code] of cases) {
        const asked = { model: 'echo', messages: ask('x'), ...more }
        await assert.rejects(client.chat.completions.create(asked), (error: object) => {
          const { status, param: named, code: told, type } = error as Record<string, unknown>
          assert.deepEqual([status, named, told, type], [400, param, code, 'invalid_request_error'])
          return true
        })
      }
    })

    test('GET /v1/models lists the agents that the key can invoke', async () => {
      const client = openaiClient(service)
      const models = await gathered(client.models.list())
      assert.deepEqual(
        models.map(({ id, object, owned_by }) => ({ id, object, owned_by })),
        ['echo', 'hello', 'tiny'].map((id) => ({ id, object: 'model', owned_by: 'moorage' })),
      )
      assert.ok(models.every(({ created }) => Number.isInteger(created)))
      assert.equal((await client.models.retrieve('echo@staging')).id, 'echo@staging')
      await assert.rejects(client.models.retrieve('nobody'), { status: 404, code: 'model_not_found' })
    })
  })
}
