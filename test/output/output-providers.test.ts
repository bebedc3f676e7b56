import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { LOCAL_TOOLS, type LocalServer, readBody, startLocalServer } from '../support/outside/local-server.ts'
import { type ModelServer, startModelServer } from '../support/outside/model-server.ts'
import { ANY_ENGINE, type Service, startService } from '../support/service/service.ts'
import { createAgent, later } from '../support/slices/resources.ts'

const CLOSED = {
  type: 'object',
  properties: { total: { type: 'number', minimum: 0 } },
  required: ['total'],
  additionalProperties: false,
}
const OPEN = { type: 'object', properties: { total: { type: 'number' } } }
const FITS = { text: ['{"total":3}'] }

/** What Anthropic's Messages API answers, block by block. */
function anthropicAnswer(block: object, stop_reason: string): string {
  const events = [
    { type: 'message_start', message: { model: 'claude-test', usage: { input_tokens: 5, output_tokens: 1 } } },
    { type: 'content_block_start', index: 0, content_block: block },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason }, usage: { output_tokens: 4 } },
    { type: 'message_stop' },
  ]
  return events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('')
}

const text = (words: string) => anthropicAnswer({ type: 'text', text: words }, 'end_turn')

for (const engine of ANY_ENGINE) {
  describe(`requests to providers for structured output, on ${engine}`, () => {
    let service: Service
    let model: ModelServer
    let anthropic: LocalServer
    let tools: LocalServer
    const answers: (string | { status: number; body: object })[] = []
    // oxlint-disable-next-line typescript/no-explicit-any
    const asked: any[] = []

    before(async () => {
      model = await startModelServer()
      tools = await startLocalServer((_request, response) => void response.end('total: 3'))
      anthropic = await startLocalServer(async (request, response) => {
        asked.push(JSON.parse(await readBody(request)))
        const answer = answers.shift() ?? text('{"total":3}')
        if (typeof answer === 'string') {
          response.writeHead(200, { 'content-type': 'text/event-stream' })
          response.end(answer)
        } else {
          response.writeHead(answer.status, { 'content-type': 'application/json' })
          response.end(JSON.stringify(answer.body))
        }
      })
      service = await startService(engine, {
        ...LOCAL_TOOLS,
        MOORAGE_PROVIDERS: JSON.stringify([
          { name: 'openai', type: 'openai', baseUrl: model.url, apiKey: 'sk-1' },
          { name: 'local', baseUrl: model.url },
          { name: 'anthropic', type: 'anthropic', baseUrl: `${anthropic.url}/v1`, apiKey: 'sk-ant' },
        ]),
      })
      for (const [name, of] of Object.entries({
        gpt: 'openai/gpt-4o',
        tiny: 'local/tiny',
        claude: 'anthropic/claude-test',
      })) {
        await createAgent(service, name, { model: of })
      }
    })
    after(async () => {
      await service.stop()
      await Promise.all([model.close(), anthropic.close(), tools.close()])
    })
    const invoke = (agent: string, schema: object, more: object = {}) =>
      service.call('POST', `/v1/agents/${agent}/invoke`, { body: { message: 'sum', output: { schema, ...more } } })
    const systemOf = (at: number) => model.requests[at]?.body.messages.find(({ role }) => role === 'system')?.content

    test('OpenAI gets response_format, strict only if the schema allows it, and no extra instructions', async () => {
      model.reset()
      model.reply(FITS, FITS, FITS)
      await invoke('gpt', CLOSED)
      await invoke('gpt', OPEN)
      await invoke('gpt', { type: 'object' })
      assert.deepEqual(
        model.requests.map(({ body }) => body['response_format']),
        [
          { type: 'json_schema', json_schema: { name: 'response', schema: CLOSED, strict: true } },
          { type: 'json_schema', json_schema: { name: 'response', schema: OPEN, strict: false } },
          { type: 'json_object' },
        ],
      )
      assert.deepEqual([systemOf(0), systemOf(1)], [undefined, undefined])
      assert.match(systemOf(2) ?? '', /^Answer with one JSON object/)
    })

    test('a compatible server gets response_format and extra instructions, because it might ignore the field', async () => {
      model.reset()
      model.reply(FITS)
      await invoke('tiny', CLOSED)
      assert.equal(typeof model.requests[0]?.body['response_format'], 'object')
      assert.match(systemOf(0) ?? '', /^Answer with JSON and nothing else: one value that fits this JSON Schema/)
    })

    test('a model that rejects the field gets the schema as instructions, and no field for a while', async () => {
      model.reset()
      const message = "This model does not support response_format of type 'json_schema'"
      const refusal = { status: 400, body: { error: { message, param: 'response_format' } } }
      await createAgent(service, 'stubborn', { model: 'local/stubborn' })
      model.reply(refusal, FITS, FITS)
      const { status, body } = await invoke('stubborn', CLOSED)
      assert.deepEqual([status, body.data?.output], [200, { total: 3 }])
      assert.deepEqual((await invoke('stubborn', OPEN)).body.data.output, { total: 3 })
      const given = () => model.requests.map(({ body: sent }) => 'response_format' in sent)
      assert.deepEqual(given(), [true, false, false])
      model.reply(FITS, FITS)
      await invoke('tiny', CLOSED)
      assert.deepEqual(given().slice(3), [true])
      await later(service, 3_600_000, () => invoke('stubborn', CLOSED))
      assert.deepEqual(given().slice(4), [true])
    })

    test('another 400 from the provider does not remove the schema', async () => {
      model.reset()
      model.reply({ status: 400, body: { error: { message: 'bad temperature', param: 'temperature' } } })
      const { status, body } = await invoke('gpt', CLOSED)
      assert.deepEqual([status, body.error.code, model.requests.length], [500, 'server_error', 1])
    })

    test('Anthropic gets output_config with a schema that it accepts', async () => {
      asked.length = 0
      const { body } = await invoke('claude', CLOSED)
      assert.deepEqual(body.data.output, { total: 3 })
      const schema = { ...CLOSED, properties: { total: { type: 'number' } } }
      assert.deepEqual(asked[0].output_config, { format: { type: 'json_schema', schema } })
      assert.deepEqual(['system' in asked[0], 'tools' in asked[0]], [false, false])
    })

    test("an answer outside a limit that Anthropic's schema can't contain is requested again", async () => {
      asked.length = 0
      answers.push(text('{"total":-3}'))
      const { body } = await invoke('claude', CLOSED)
      assert.deepEqual([body.data.output, asked.length], [{ total: 3 }, 2])
      const [, answered, reminder] = asked[1].messages
      assert.deepEqual(answered, { role: 'assistant', content: [{ type: 'text', text: '{"total":-3}' }] })
      assert.match(reminder.content[0].text, /^This answer does not fit:\n- answer\.total: must be at least 0\n/)
    })

    test('Anthropic gets a schema with open objects as instructions, because it accepts only closed ones', async () => {
      asked.length = 0
      assert.deepEqual((await invoke('claude', OPEN)).body.data.output, { total: 3 })
      assert.equal('output_config' in asked[0], false)
      assert.match(asked[0].system[0].text, /^Answer with JSON and nothing else/)
    })

    test('Anthropic models can reject the field, too', async () => {
      asked.length = 0
      const error = { type: 'invalid_request_error', message: 'output_config.format: this model does not support it' }
      answers.push({ status: 400, body: { type: 'error', error } })
      await createAgent(service, 'old', { model: 'anthropic/claude-old' })
      assert.deepEqual((await invoke('old', CLOSED)).body.data.output, { total: 3 })
      assert.deepEqual(
        asked.map((sent) => 'output_config' in sent),
        [true, false],
      )
    })

    test("after tool calls, the request for JSON names Anthropic's tools but allows no call", async () => {
      asked.length = 0
      const tool = { type: 'http', name: 'sum', url: `${tools.url}/sum` }
      await createAgent(service, 'summer', {
        model: 'anthropic/claude-test',
        tools: [tool],
        output: { schema: CLOSED },
      })
      answers.push(
        anthropicAnswer({ type: 'tool_use', id: 'toolu_1', name: 'sum', input: {} }, 'tool_use'),
        text('three'),
      )
      const { body } = await service.call('POST', '/v1/agents/summer/invoke', { body: { message: 'sum' } })
      assert.deepEqual(body.data.output, { total: 3 })
      assert.deepEqual(
        asked.map(({ tool_choice, output_config }) => [tool_choice.type, output_config !== undefined]),
        [
          ['auto', false],
          ['auto', false],
          ['none', true],
        ],
      )
      assert.deepEqual(
        asked[2].messages.map(({ role }: { role: string }) => role),
        ['user', 'assistant', 'user', 'assistant', 'user'],
      )
    })
  })
}
