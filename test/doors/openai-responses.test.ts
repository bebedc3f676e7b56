import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { FunctionTool, ResponseStreamEvent } from 'openai/resources/responses/responses'
import { checkEvents, checkResponse, gathered, openaiClient } from '../support/clients/openai.ts'
import { LOCAL_TOOLS, type LocalServer, startLocalServer } from '../support/outside/local-server.ts'
import type { ModelServer } from '../support/outside/model-server.ts'
import { until } from '../support/running/until.ts'
import { ANY_ENGINE, type Service } from '../support/service/service.ts'
import { startWithModel } from '../support/service/with-model.ts'

const WEATHER: FunctionTool = {
  type: 'function',
  name: 'weather',
  description: 'The weather of a city',
  parameters: { type: 'object', properties: { city: { type: 'string' } } },
  strict: false,
}

for (const engine of ANY_ENGINE) {
  describe(`responses on ${engine}`, () => {
    let service: Service
    let model: ModelServer
    let stop: () => Promise<void>
    let tools: LocalServer

    before(async () => {
      tools = await startLocalServer((_request, response) => response.end('stock: 7'))
      ;({ service, model, stop } = await startWithModel(engine, LOCAL_TOOLS))
      await create({ name: 'echo' })
      const stock = { type: 'http', name: 'stock', url: `${tools.url}/stock` }
      await create({ name: 'tiny', model: 'local/tiny', instructions: 'Be brief.', tools: [stock] })
      const rules = [{ reply: 'late', delay_ms: 60_000 }]
      await create({ name: 'slow', model: 'builtin/script', script: { rules } })
    })
    after(async () => {
      await stop()
      await tools.close()
    })
    const create = async (body: object) => {
      const reply = await service.call('POST', '/v1/agents', { body })
      assert.equal(reply.status, 201, reply.text)
    }
    const textOf = (events: ResponseStreamEvent[]) =>
      events.map((event) => (event.type === 'response.output_text.delta' ? event.delta : '')).join('')
    const shownTo = (request: number) => {
      const { messages = [] } = model.requests[request]?.body ?? {}
      return messages.map(({ role, content }) => `${role}: ${content ?? ''}`)
    }

    test('returns every field; a response can be read again and deleted', async () => {
      const client = openaiClient(service)
      const asked = { model: 'echo', input: 'Ahoy', instructions: 'Repeat.', metadata: { k: 'v' } }
      const response = await client.responses.create(asked)
      checkResponse(response)
      assert.equal(response.output_text, 'Ahoy')
      assert.deepEqual([response.status, response.model, response.instructions], ['completed', 'echo', 'Repeat.'])
      assert.deepEqual(response.metadata, { k: 'v' })
      assert.ok(response.usage && response.usage.total_tokens > 0)
      const { _request_id, ...first } = response as object as Record<string, unknown>
      const { _request_id: _again, ...read } = (await client.responses.retrieve(response.id)) as object as Record<
        string,
        unknown
      >
      assert.deepEqual(read, first)

      const items = await gathered(client.responses.inputItems.list(response.id))
      assert.equal(items.length, 1)
      assert.deepEqual((items[0] as { content: unknown }).content, [{ type: 'input_text', text: 'Ahoy' }])

      await client.responses.delete(response.id)
      await assert.rejects(client.responses.retrieve(response.id), { status: 404 })
      await assert.rejects(gathered(client.responses.inputItems.list(response.id)), { status: 404 })
      const { body } = await service.call('GET', '/v1/agents/echo/invocations?limit=1')
      assert.deepEqual([body.data[0].message, body.data[0].response, body.data[0].door], ['', '', 'openai'])
    })

    test('streams every event with its fields and increasing numbers', async () => {
      const stream = openaiClient(service).responses.stream({ model: 'echo', input: 'one two three' })
      const events = await gathered(stream)
      checkEvents(events)
      assert.deepEqual(
        events.map(({ type }) => type).filter((type, i, all) => type !== all[i - 1]),
        [
          'response.created',
          'response.in_progress',
          'response.output_item.added',
          'response.content_part.added',
          'response.output_text.delta',
          'response.output_text.done',
          'response.content_part.done',
          'response.output_item.done',
          'response.completed',
        ],
      )
      assert.equal((await stream.finalResponse()).output_text, 'one two three')
    })

    test('a tool call is an item, and the next request continues after it', async () => {
      model.reset()
      const calls = [
        { name: 'stock', arguments: {} },
        { name: 'weather', arguments: { city: 'Kiel' } },
      ]
      model.reply({ text: ['Let me see.'], calls }, { text: ['Sunny, and 7 left.'] }, { text: ['Yes.'] })
      const client = openaiClient(service)
      const stream = client.responses.stream({ model: 'tiny', input: 'Can I sail?', tools: [WEATHER] })
      checkEvents(await gathered(stream))
      const first = await stream.finalResponse()
      const call = first.output.find((item) => item.type === 'function_call')
      assert.ok(call)
      assert.deepEqual([call.name, call.arguments, first.status], ['weather', '{"city":"Kiel"}', 'completed'])

      const output = { type: 'function_call_output', call_id: call.call_id, output: 'sunny' } as const
      const next = { model: 'tiny', previous_response_id: first.id, tools: [WEATHER] }
      const second = await client.responses.create({ ...next, input: [output] })
      assert.equal(second.output_text, 'Sunny, and 7 left.')
      const shown = [
        'system: Be brief.',
        'user: Can I sail?',
        'assistant: Let me see.',
        'tool: stock: 7',
        'tool: sunny',
      ]
      assert.deepEqual(shownTo(1), shown)

      const third = await client.responses.create({ model: 'tiny', previous_response_id: second.id, input: 'Really?' })
      assert.equal(third.output_text, 'Yes.')
      assert.deepEqual(shownTo(2), [...shown, 'assistant: Sunny, and 7 left.', 'user: Really?'])
      await assert.rejects(client.responses.create({ model: 'echo', previous_response_id: second.id, input: 'x' }), {
        status: 400,
        param: 'previous_response_id',
      })
    })

    test('a response can continue after one that refers to items of earlier responses', async () => {
      model.reset()
      const calls = [{ name: 'weather', arguments: { city: 'Kiel' } }]
      model.reply({ text: ['Let me see.'], calls }, { text: ['Sunny.'] }, { text: ['Yes.'] }, { text: ['Surely.'] })
      const client = openaiClient(service)
      const first = await client.responses.create({ model: 'tiny', input: 'Can I sail?', tools: [WEATHER] })
      const call = first.output.find((item) => item.type === 'function_call')
      assert.ok(call?.id)
      const asked = { role: 'user', content: 'Can I sail?' } as const
      const named = { type: 'item_reference', id: call.id } as const
      const output = { type: 'function_call_output', call_id: call.call_id, output: 'sunny' } as const
      const second = await client.responses.create({ model: 'tiny', input: [asked, named, output], tools: [WEATHER] })
      const said = { type: 'item_reference', id: second.output[0]?.id ?? '' } as const
      const sure = { role: 'user', content: 'Sure?' } as const
      const third = await client.responses.create({ model: 'tiny', input: [asked, named, output, said, sure] })
      const shown = [
        'system: Be brief.',
        'user: Can I sail?',
        'assistant: Let me see.',
        'tool: sunny',
        'assistant: Sunny.',
        'user: Sure?',
      ]
      assert.deepEqual(shownTo(2), shown)
      await client.responses.create({ model: 'tiny', previous_response_id: third.id, input: 'Really?' })
      assert.deepEqual(shownTo(3), [...shown, 'assistant: Yes.', 'user: Really?'])
    })

    test("a user's response can't be continued for another user", async () => {
      const client = openaiClient(service)
      const { id } = await client.responses.create({ model: 'echo', input: 'My secret', user: 'anna' })
      const next = { model: 'echo', input: 'And now?', previous_response_id: id }
      await assert.rejects(client.responses.create({ ...next, user: 'ben' }), {
        status: 400,
        param: 'previous_response_id',
      })
      for (const more of [{ user: 'anna' }, {}]) {
        assert.equal((await client.responses.create({ ...next, ...more })).status, 'completed')
      }
    })

    test('a conversation belongs to its first user, even after a request without a user', async () => {
      const client = openaiClient(service)
      const first = await client.responses.create({ model: 'echo', input: 'My secret', user: 'carla' })
      const between = await client.responses.create({
        model: 'echo',
        input: 'Go on',
        previous_response_id: first.id,
      })
      const named = await client.responses.create({
        model: 'echo',
        input: [
          { type: 'item_reference', id: first.output[0]?.id ?? '' },
          { role: 'user', content: 'Go on' },
        ],
      })
      for (const { id } of [between, named]) {
        const next = { model: 'echo', input: 'What was it?', previous_response_id: id }
        await assert.rejects(client.responses.create({ ...next, user: 'dora' }), {
          status: 400,
          param: 'previous_response_id',
        })
        assert.equal((await client.responses.create({ ...next, user: 'carla' })).status, 'completed')
      }
    })

    test('runs in the background, and can be cancelled', async () => {
      const client = openaiClient(service)
      const queued = await client.responses.create({ model: 'slow', input: 'go', background: true })
      checkResponse(queued)
      assert.equal(queued.status, 'queued')
      await until('it runs', async () => (await client.responses.retrieve(queued.id)).status === 'in_progress')
      assert.equal((await client.responses.cancel(queued.id)).status, 'cancelled')
      assert.equal((await client.responses.retrieve(queued.id)).status, 'cancelled')

      const done = await client.responses.create({ model: 'echo', input: 'soon', background: true })
      await until('it has ended', async () => (await client.responses.retrieve(done.id)).status === 'completed')
      assert.equal((await client.responses.retrieve(done.id)).output_text, 'soon')
    })

    test('a stream can be resumed after any event, without loss or repetition', async () => {
      const client = openaiClient(service)
      const asked = { model: 'echo', input: 'a b c d', background: true, stream: true } as const
      const events = await gathered(await client.responses.create(asked))
      checkEvents(events)
      assert.equal(textOf(events), 'a b c d')
      const [created] = events
      assert.ok(created?.type === 'response.created')
      for (const [i, { sequence_number }] of events.entries()) {
        const query = { stream: true, starting_after: sequence_number } as const
        const rest: ResponseStreamEvent[] = await gathered(await client.responses.retrieve(created.response.id, query))
        checkEvents([...events.slice(0, i + 1), ...rest])
        assert.deepEqual(rest, events.slice(i + 1))
      }
      const whole = await gathered(await client.responses.retrieve(created.response.id, { stream: true }))
      assert.deepEqual(whole, events, 'from the first event on, where no number is given')
    })

    test('a failed run is reported as failed', async () => {
      model.reset()
      model.reply({ status: 400, body: { error: { message: 'no' } } })
      const client = openaiClient(service)
      const events = await gathered(await client.responses.create({ model: 'tiny', input: 'x', stream: true }))
      checkEvents(events)
      assert.equal(events.at(-1)?.type, 'response.failed')
      model.reply({ status: 400, body: { error: { message: 'no' } } })
      await assert.rejects(client.responses.create({ model: 'tiny', input: 'x' }), {
        status: 500,
        type: 'server_error',
      })
    })

    test('a response that waits for a person is in progress, and later completed', async () => {
      const rules = [{ call: { tool: 'ask_person', arguments: { question: 'Why?' } }, reply: '{{result}}' }]
      const asks = { tools: [{ type: 'ask_person' }], approvals: { self: true } }
      await create({ name: 'asker', model: 'builtin/script', script: { rules }, ...asks })
      const client = openaiClient(service)
      const asked = client.chat.completions.create({ model: 'asker', messages: [{ role: 'user', content: 'go' }] })
      await assert.rejects(asked, { status: 400, code: 'run_waits' })
      const messages = [{ role: 'user' as const, content: 'go' }]
      const decide = async () => {
        const { body } = await service.call('GET', '/v1/agents/asker/invocations?limit=1')
        const path = `/v1/agents/asker/invocations/${body.data[0].request_id}`
        await service.call('POST', `${path}/approvals/call_1`, { body: { decision: 'approve', answer: 'Because.' } })
        await until('it has ended', async () => (await service.call('GET', path)).body.data.finished_at !== null)
      }
      const streamed = async () => {
        const headers = { 'Idempotency-Key': 'a-stream-that-waits' }
        const stream = await client.chat.completions.create({ model: 'asker', messages, stream: true }, { headers })
        return (await gathered(stream)).map(({ choices }) => choices[0]?.delta.content ?? '').join('')
      }
      for (let i = 0; i < 2; i++) await assert.rejects(streamed, { code: 'run_waits' })
      await decide()
      assert.equal(await streamed(), 'Because.')
      const repeated = () =>
        client.chat.completions.create({ model: 'asker', messages }, { headers: { 'Idempotency-Key': 'it-waits' } })
      await assert.rejects(repeated, { status: 400, code: 'run_waits' })
      await decide()
      assert.equal((await repeated()).choices[0]?.message.content, 'Because.')

      const response = await client.responses.create({ model: 'asker', input: 'go' })
      assert.equal(response.status, 'in_progress')
      const { body } = await service.call('GET', '/v1/agents/asker/invocations?limit=1')
      const path = `/v1/agents/asker/invocations/${body.data[0].request_id}/approvals/call_1`
      await service.call('POST', path, { body: { decision: 'approve', answer: 'Because.' } })
      await until('it has ended', async () => (await client.responses.retrieve(response.id)).status === 'completed')
      assert.equal((await client.responses.retrieve(response.id)).output_text, 'Because.')
    })

    test('a deleted response is not returned again for its Idempotency-Key', async () => {
      const client = openaiClient(service)
      const headers = { 'Idempotency-Key': 'to-be-deleted' }
      const ask = () => client.responses.create({ model: 'echo', input: 'psst' }, { headers })
      const { id } = await ask()
      await client.responses.delete(id)
      await assert.rejects(ask, { status: 404, message: /has been erased/ })
    })

    test("a response that is deleted, or whose user is erased, can't be continued", async () => {
      const client = openaiClient(service)
      const erasures = [
        (id: string) => client.responses.delete(id),
        () => service.call('DELETE', '/v1/users/emil').then(({ status }) => assert.equal(status, 200)),
      ]
      for (const erase of erasures) {
        const { id, output } = await client.responses.create({ model: 'echo', input: 'psst', user: 'emil' })
        await erase(id)
        const next = { model: 'echo', input: 'Go on' }
        const named = { type: 'item_reference', id: output[0]?.id ?? '' } as const
        await assert.rejects(client.responses.create({ ...next, previous_response_id: id }), {
          status: 400,
          param: 'previous_response_id',
        })
        const asked = client.responses.create({ ...next, input: [named, { role: 'user', content: 'Go on' }] })
        await assert.rejects(asked, { status: 400, param: 'input' })
      }
    })

    test('the model does not see deleted responses of a continued conversation', async () => {
      model.reset()
      const calls = [
        { name: 'stock', arguments: {} },
        { name: 'weather', arguments: { city: 'Kiel' } },
      ]
      model.reply({ text: ['Let me see.'], calls }, { text: ['Sunny.'] }, { text: ['Yes.'] })
      const client = openaiClient(service)
      const said = [
        { role: 'user', content: 'My berth is 4711' },
        { role: 'assistant', content: 'Noted: 4711' },
        { role: 'user', content: 'Can I sail?' },
      ] as const
      const asked = { model: 'tiny', tools: [WEATHER], instructions: 'Mind berth 4711.' }
      const first = await client.responses.create({ ...asked, input: [...said] })
      const call = first.output.find((item) => item.type === 'function_call')
      const output = { type: 'function_call_output', call_id: call?.call_id ?? '', output: 'sunny' } as const
      const more = { model: 'tiny', tools: [WEATHER] }
      const second = await client.responses.create({ ...more, previous_response_id: first.id, input: [output] })
      assert.match(JSON.stringify(model.requests[1]?.body), /4711.*stock: 7/)
      await client.responses.delete(first.id)
      await client.responses.create({ ...more, previous_response_id: second.id, input: 'Really?' })
      const shown = JSON.stringify(model.requests[2]?.body)
      assert.match(shown, /Can I sail.*Sunny.*Really/)
      for (const words of ['4711', 'stock: 7', 'Let me see']) assert.ok(!shown.includes(words), shown)
    })

    test('structured output and its schema are sent to the model', async () => {
      model.reset()
      model.reply({ text: ['{"city":"Kiel"}'] })
      await service.call('POST', '/v1/agents', { body: { name: 'plain', model: 'local/tiny' } })
      const schema = {
        type: 'object',
        properties: { city: { type: 'string' } },
        required: ['city'],
        additionalProperties: false,
      }
      const text = { format: { type: 'json_schema', name: 'place', schema, strict: true } } as const
      const parsed = await openaiClient(service).responses.parse({ model: 'plain', input: 'Where?', text })
      assert.deepEqual(parsed.output_parsed, { city: 'Kiel' })
      assert.deepEqual(model.requests[0]?.body['response_format'], {
        type: 'json_schema',
        json_schema: { name: 'place', schema: { title: 'place', ...schema }, strict: true },
      })
    })
  })
}
