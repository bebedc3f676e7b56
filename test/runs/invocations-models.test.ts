import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { allEvents, readEvents } from '../support/clients/sse.ts'
import { LOCAL_TOOLS, startLocalServer } from '../support/outside/local-server.ts'
import type { ModelServer } from '../support/outside/model-server.ts'
import { cpuTime } from '../support/running/cpu-time.ts'
import { until } from '../support/running/until.ts'
import { newAgent } from '../support/service/agents.ts'
import { ANY_ENGINE, type Service } from '../support/service/service.ts'
import { startWithModel } from '../support/service/with-model.ts'

const MODEL = 'local/test-model'

for (const engine of ANY_ENGINE) {
  describe(`an agent on a model provider, on ${engine}`, () => {
    let service: Service
    let model: ModelServer
    let stop: () => Promise<void>
    let tool: Awaited<ReturnType<typeof startLocalServer>>
    before(async () => {
      tool = await startLocalServer((request, response) => response.end(`weather at ${request.url}`))
      ;({ service, model, stop } = await startWithModel(engine, LOCAL_TOOLS, { apiKey: 'sk-test-provider-key' }))
    })
    after(async () => {
      await stop()
      await tool.close()
    })

    const invoke = (agent: string, headers = {}) =>
      service.call('POST', `/v1/agents/${agent}/invoke`, { body: { message: 'How is the weather?' }, headers })

    const follow = (agent: string, request_id: string) =>
      fetch(`${service.url}/v1/agents/${agent}/invocations/${request_id}/stream`, {
        headers: { Authorization: `Bearer ${service.admin}` },
      })

    /** What one invocation left behind: its receipt, log lines, metrics and event. */
    async function traces(agent: string, request_id: string) {
      const receipt = await service.call('GET', `/v1/agents/${agent}/invocations/${request_id}`)
      const logs = await service.call('GET', `/v1/agents/${agent}/logs?request_id=${request_id}`)
      const errors = await service.call('GET', `/v1/agents/${agent}/metrics?metric=error_rate&granularity=1h`)
      const deliveries = await service.call('GET', `/v1/webhooks/${webhooks.get(agent)}/deliveries`)
      return {
        receipt: receipt.body.data,
        logs: logs.body.data.map(({ level, message }: { level: string; message: string }) => `${level} ${message}`),
        errorRate: errors.body.data.values.at(-1)?.value,
        events: deliveries.body.data.map(({ event }: { event: string }) => event),
      }
    }

    const webhooks = new Map<string, string>()
    async function modelAgent(fields: object = {}): Promise<string> {
      const agent = await newAgent(service, { model: MODEL, ...fields })
      const { body } = await service.call('POST', '/v1/webhooks', {
        body: { agent_id: agent, url: `${tool.url}/hook`, events: ['*'] },
      })
      webhooks.set(agent, body.data.id)
      return agent
    }

    test('a text that is cut within a character reaches the provider with whole characters', async (t) => {
      // What an API answers to a refused call is cut after 2,000 characters, and an emoji has two.
      const broken = await startLocalServer((_, response) => void response.writeHead(500).end(`${'x'.repeat(1_999)}🌦🌦`))
      t.after(() => broken.close())
      const agent = await newAgent(service, { model: MODEL, tools: [{ type: 'http', name: 'look', url: broken.url }] })
      model.reset()
      model.reply({ calls: [{ name: 'look', arguments: {} }] }, { text: ['Unknown.'] })
      const { status, text } = await invoke(agent)
      assert.equal(status, 200, text)
      const said = model.requests[1]?.body.messages.at(-1)?.content ?? ''
      assert.ok(said.includes('x'.repeat(1_999)), said)
      assert.ok(said.isWellFormed(), said.slice(-3))
    })

    test('answers, with the usage that the provider reports', async () => {
      const agent = await modelAgent({ instructions: 'Be brief.' })
      model.reply({ text: ['Fair ', 'winds'], usage: { prompt_tokens: 11, completion_tokens: 4 } })
      const { status, body } = await invoke(agent)
      assert.equal(status, 200)
      assert.equal(body.data.response, 'Fair winds')
      assert.equal(body.data.tokens_used, 15)
      const { receipt, logs, errorRate, events } = await traces(agent, body.data.request_id)
      assert.deepEqual(receipt.usage, { input_tokens: 11, output_tokens: 4, total_tokens: 15 })
      assert.deepEqual(logs, ['info Invocation completed'])
      assert.equal(errorRate, 0)
      assert.deepEqual(events, ['agent.completed'])
    })

    test('calls a tool, continues with its result, and counts the usage of both model calls', async () => {
      const agent = await modelAgent({
        tools: [
          {
            type: 'http',
            name: 'weather',
            url: `${tool.url}/{place}`,
            input_schema: { type: 'object', properties: { place: { type: 'string' } }, required: ['place'] },
          },
        ],
      })
      model.reply(
        {
          calls: [{ name: 'weather', arguments: { place: 'harbour' } }],
          usage: { prompt_tokens: 10, completion_tokens: 5 },
        },
        { text: ['Sunny'], usage: { prompt_tokens: 20, completion_tokens: 2 } },
      )
      const { body } = await invoke(agent)
      assert.equal(body.data.response, 'Sunny')
      assert.equal(body.data.tokens_used, 37)
      const { receipt, logs } = await traces(agent, body.data.request_id)
      assert.deepEqual(
        receipt.steps.map(({ kind, name, arguments: given, result, usage }: Record<string, unknown>) =>
          kind === 'tool' ? [name, given, result] : [kind, usage],
        ),
        [
          ['model', { input_tokens: 10, output_tokens: 5, total_tokens: 15 }],
          ['weather', { place: 'harbour' }, 'weather at /harbour'],
          ['model', { input_tokens: 20, output_tokens: 2, total_tokens: 22 }],
        ],
      )
      assert.ok(logs.includes('info Tool weather answered'), logs.join())
    })

    test('sends the model the problem with invalid arguments, instead of failing', async () => {
      const agent = await modelAgent({
        tools: [
          {
            type: 'http',
            name: 'weather',
            url: `${tool.url}/{place}`,
            input_schema: { type: 'object', properties: { place: { type: 'string' } }, required: ['place'] },
          },
        ],
      })
      model.reply({ calls: [{ name: 'weather', arguments: '{"place": 7' }] }, { text: ['I could not ask'] })
      const { status, body } = await invoke(agent)
      assert.equal(status, 200)
      const { receipt, logs } = await traces(agent, body.data.request_id)
      assert.ok(receipt.steps[1].error)
      assert.ok(logs.includes('warn Tool weather failed'), logs.join())
    })

    test('streams tool calls and text as they arrive', async () => {
      const agent = await modelAgent({ tools: [{ type: 'http', name: 'weather', url: `${tool.url}/now` }] })
      model.reply({ calls: [{ name: 'weather', arguments: {} }] }, { text: ['Rain ', 'later'] })
      const response = await fetch(`${service.url}/v1/agents/${agent}/invoke`, {
        method: 'POST',
        headers: {
          Authorization: `Bearer ${service.admin}`,
          'Content-Type': 'application/json',
          Accept: 'text/event-stream',
        },
        body: '{"message":"weather?"}',
      })
      const events = await allEvents(response)
      const told = events.map(({ event }) => event)
      // Pieces of text that arrive together are one event.
      assert.deepEqual([...new Set(told)], ['start', 'tool_call', 'tool_result', 'delta', 'done'])
      const text = events.map(({ event, data }) => (event === 'delta' ? (data as { text: string }).text : '')).join('')
      assert.equal(text, 'Rain later')
    })

    test('retries after 429 and 503', async () => {
      const agent = await modelAgent()
      model.reply({ status: 429, headers: { 'Retry-After': '0' } }, { status: 503 }, { text: ['There'] })
      const { status, body } = await invoke(agent)
      assert.equal(status, 200, JSON.stringify(body))
      assert.equal(body.data.response, 'There')
    })

    for (const { name, reply, told, response } of [
      {
        name: '401',
        reply: { status: 401, body: { error: { message: 'bad key sk-test-provider-key' } } },
        told: "Model provider local answered 401: the API key was refused; check this provider's key.",
        response: null,
      },
      {
        name: 'a truncated stream',
        reply: { text: ['Half an'], breaks: 'reset' },
        told: 'Model provider local ended its answer early.',
        response: 'Half an',
      },
    ] as const) {
      test(`500 that reports ${name}, with the receipt, log, metric and event of a failure`, async () => {
        const agent = await modelAgent()
        model.reply(reply)
        const { status, body, text } = await invoke(agent)
        assert.equal(status, 500)
        assert.deepEqual(body.error, { code: 'server_error', message: told })
        const found = await traces(agent, body.request_id)
        assert.equal(found.receipt.status, 'failed')
        assert.deepEqual(found.receipt.error, body.error)
        assert.equal(found.receipt.response, response)
        assert.equal(found.receipt.tokens_used > 0, response !== null)
        assert.equal(found.errorRate, 100)
        assert.deepEqual(found.events, ['agent.failed'])
        assert.ok(
          found.logs.some((line: string) => line.startsWith('error Invocation failed: ')),
          found.logs.join(),
        )
        assert.doesNotMatch(text + JSON.stringify(found), /sk-test-provider-key/)
      })
    }

    test('504 if the model stops sending', async () => {
      // The machine may be so busy that the time is over before the first words come.
      const { receipt, errorRate, events } = await until('a run that heard the first words', async () => {
        const agent = await modelAgent({ limits: { timeout_ms: 1000 } })
        model.reset()
        model.reply({ text: ['Let me'], breaks: 'silence' })
        const { status, body } = await invoke(agent)
        assert.equal(status, 504)
        const found = await traces(agent, body.request_id)
        return found.receipt.response === null ? undefined : found
      })
      assert.equal(receipt.status, 'failed')
      assert.equal(receipt.error.code, 'timeout')
      assert.equal(receipt.response, 'Let me')
      assert.ok(receipt.tokens_used > 0)
      assert.equal(errorRate, 100)
      assert.deepEqual(events, ['agent.failed'])
    })

    test("cancel returns after the provider's connection is closed", async () => {
      const agent = await modelAgent()
      model.reply({ text: ['Let me'], breaks: 'silence' })
      const seen = model.nextRequest()
      const { body } = await invoke(agent, { Prefer: 'respond-async' })
      const { closed } = await seen
      let isClosed = false
      void closed.then(() => {
        isClosed = true
      })
      const { request_id } = body.data
      for await (const { event } of readEvents(await follow(agent, request_id))) if (event === 'delta') break
      const { status, body: cancelled } = await service.call(
        'POST',
        `/v1/agents/${agent}/invocations/${request_id}/cancel`,
      )
      const answered = cpuTime()
      assert.equal(status, 200)
      assert.equal(cancelled.data.status, 'cancelled')
      assert.equal(cancelled.data.response, 'Let me')
      assert.ok(cancelled.data.usage.input_tokens > 0 && cancelled.data.usage.output_tokens > 0)
      // Our end of the connection is closed when the reply comes; the provider notices a moment later.
      while (!isClosed) {
        assert.ok(cpuTime() < answered + 250, 'the provider still had its connection')
        await new Promise(setImmediate)
      }
      const told = await allEvents(await follow(agent, request_id))
      assert.deepEqual(
        told.map(({ event, data }) => [event, (data as { text?: string }).text]),
        [
          ['start', undefined],
          ['delta', 'Let me'],
          ['error', undefined],
        ],
      )
      const { errorRate, events } = await traces(agent, request_id)
      assert.equal(errorRate, undefined)
      assert.deepEqual(events, ['agent.cancelled'])
    })
  })
}
