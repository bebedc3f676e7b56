import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import type { IncomingHttpHeaders } from 'node:http'
import { after, before, describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { readEvents } from '../support/clients/sse.ts'
import { attribute, boundsOf, startCollector, type ToldSpan } from '../support/outside/collector.ts'
import { LOCAL_TOOLS, readBody, startLocalServer } from '../support/outside/local-server.ts'
import { type ModelServer, startModelServer } from '../support/outside/model-server.ts'
import { startSpeakingModel } from '../support/outside/speaking-model.ts'
import { PATIENCE } from '../support/running/patience.ts'
import { type Service, startService } from '../support/service/service.ts'
import { localProvider } from '../support/service/with-model.ts'
import { callerOf } from '../support/slices/agent-tools.ts'
import { createAgent } from '../support/slices/resources.ts'

const TRACE = '0af7651916cd43dd8448eb211c80319c'
const CALLER = 'b7ad6b7169203331'
/** The buckets that the conventions for generative AI want. */
const SECONDS = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92]
/** How long the model is silent in the middle of an answer. */
const PAUSE_MS = 100
const SECRET_MESSAGE = 'the harbour master hides the keys'

describe('OpenTelemetry', () => {
  let model: ModelServer
  let tool: Awaited<ReturnType<typeof startLocalServer>>
  const toolHeaders: IncomingHttpHeaders[] = []
  before(async () => {
    model = await startModelServer()
    tool = await startLocalServer(async (request, response) => {
      toolHeaders.push(request.headers)
      await readBody(request)
      response.end('{"depth":12}')
    })
  })
  after(async () => {
    await model.close()
    await tool.close()
  })

  /** Runs the story on a service that tells a collector of it; resolves with what was told when the service has stopped. */
  async function told(settings: Record<string, string>, story: (service: Service) => Promise<void>) {
    const collector = await startCollector()
    const service = await startService('sqlite', {
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_EXPORTER_OTLP_HEADERS: 'x-collector-key=let%20me%20in',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=tests',
      ...LOCAL_TOOLS,
      ...localProvider(model.url),
      ...settings,
    })
    try {
      await story(service)
    } finally {
      await service.stop()
      await collector.close()
    }
    return collector
  }

  const sounding = () => ({
    model: 'local/harbour-1',
    tools: [{ type: 'http', name: 'depth', description: 'depth of water', method: 'GET', url: `${tool.url}/depth` }],
  })

  test('one trace contains the request, the model and tool calls, and is passed on to the called servers', async () => {
    model.reset()
    toolHeaders.length = 0
    model.reply({ calls: [{ name: 'depth', arguments: {} }] }, { text: ['twelve metres'] })
    let passed = 0
    const collector = await told({}, async (service) => {
      await createAgent(service, 'pilot', sounding())
      const started = performance.now()
      const { status } = await service.call('POST', '/v1/agents/pilot/invoke', {
        body: { message: SECRET_MESSAGE, context: { session_id: 'session-1' } },
        headers: { traceparent: `00-${TRACE}-${CALLER}-01` },
      })
      passed = (performance.now() - started) / 1000
      assert.equal(status, 200)
    })
    const spans = collector.spans().filter(({ traceId }) => traceId === TRACE)
    const named = (name: string) => spans.filter((span) => span.name === name)
    const [request] = named('POST /v1/agents/{agent_id}/invoke')
    const [run] = named('invoke_agent pilot')
    const chats = named('chat harbour-1')
    const [call] = named('execute_tool depth')
    assert.ok(request && run && call)
    assert.equal(chats.length, 2)
    assert.equal(spans.length, 5)

    assert.equal(request.parentSpanId, CALLER)
    assert.equal(run.parentSpanId, request.spanId)
    for (const step of [...chats, call]) assert.equal(step.parentSpanId, run.spanId)
    assert.deepEqual(
      [request, run, chats[0], call].map((span) => span?.kind),
      [2, 1, 3, 1],
    )
    const sent = model.requests.map(({ headers }) => headers['traceparent'])
    assert.deepEqual(
      sent,
      chats.map(({ spanId }) => `00-${TRACE}-${spanId}-01`),
    )
    assert.equal(toolHeaders[0]?.['traceparent'], `00-${TRACE}-${call.spanId}-01`)

    assert.equal(attribute(request, 'http.response.status_code'), 200)
    assert.deepEqual(
      ['http.route', 'url.path', 'url.scheme'].map((key) => attribute(request, key)),
      ['/v1/agents/{agent_id}/invoke', '/v1/agents/pilot/invoke', 'http'],
    )
    assert.match(String(attribute(request, 'moorage.request_id')), /^req_/)
    assert.deepEqual(
      ['gen_ai.operation.name', 'gen_ai.agent.name', 'gen_ai.conversation.id'].map((key) => attribute(run, key)),
      ['invoke_agent', 'pilot', 'session-1'],
    )
    for (const chat of chats) {
      assert.equal(attribute(chat, 'gen_ai.operation.name'), 'chat')
      assert.equal(attribute(chat, 'gen_ai.provider.name'), 'local')
      assert.equal(attribute(chat, 'gen_ai.request.model'), 'harbour-1')
      assert.equal(attribute(chat, 'gen_ai.response.model'), 'harbour-1')
      assert.ok(Number(attribute(chat, 'gen_ai.usage.input_tokens')) > 0)
    }
    assert.equal(attribute(call, 'gen_ai.tool.name'), 'depth')
    for (const span of spans) {
      assert.ok(!span.status.code, `${span.name} succeeded: its status stays unset`)
      assert.equal(attribute(span, 'gen_ai.system'), undefined)
    }
    assert.deepEqual(
      Object.fromEntries(collector.metrics().map(({ name, histogram }) => [name, boundsOf(histogram)])),
      {
        'gen_ai.client.operation.duration': SECONDS,
        'gen_ai.client.operation.time_to_first_chunk': SECONDS,
        'gen_ai.client.token.usage': [
          1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864,
        ],
        'gen_ai.execute_tool.duration': SECONDS,
        'gen_ai.invoke_agent.duration': [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 51.2, 102.4, 204.8, 409.6],
      },
    )
    const took = collector.metrics().find(({ name }) => name === 'gen_ai.client.operation.duration')
    const seconds = took?.histogram.dataPoints.reduce((sum, point) => sum + point.sum, 0) ?? 0
    assert.ok(seconds > 0 && seconds <= passed, `${seconds} of ${passed} s`)
    for (const { headers, body } of collector.bodies) {
      assert.equal(headers['x-collector-key'], 'let me in')
      assert.match(body, /deployment\.environment\.name/)
      assert.ok(!body.includes(SECRET_MESSAGE), 'contents are not told unless asked for')
    }
  })

  test('the time to the first chunk does not include the rest of the answer', async (t) => {
    const speaking = await startSpeakingModel()
    t.after(() => speaking.close())
    const collector = await told(localProvider(speaking.url), async (service) => {
      await createAgent(service, 'speaker', { model: 'local/harbour-1' })
      const response = await fetch(`${service.url}/v1/agents/speaker/invoke`, {
        method: 'POST',
        headers: {
          Authorization: `Bearer ${service.admin}`,
          Accept: 'text/event-stream',
          'Content-Type': 'application/json',
        },
        body: JSON.stringify({ message: 'Speak' }),
      })
      const events = readEvents(response)
      const speech = await speaking.next()
      speech.say('One.')
      for (;;) if ((await events.next()).value?.event === 'delta') break
      await delay(PAUSE_MS)
      speech.say(' Two.')
      speech.finish()
      for await (const _ of events);
    })
    const sumOf = (metric: string) => {
      const { histogram } = collector.metrics().find(({ name }) => name === `gen_ai.client.operation.${metric}`) ?? {}
      return histogram?.dataPoints.reduce((sum, point) => sum + point.sum, 0) ?? 0
    }
    const [first, whole] = [sumOf('time_to_first_chunk'), sumOf('duration')]
    assert.ok(first > 0 && first <= whole - PAUSE_MS / 1000, `${first} of ${whole} s`)
  })

  test("a called agent's run, and its own calls, are below the call that started it", async () => {
    const collector = await told({}, async (service) => {
      await createAgent(service, 'mate', { model: 'local/harbour-1' })
      await createAgent(service, 'captain', callerOf('mate'))
      const { status, text } = await service.call('POST', '/v1/agents/captain/invoke', {
        body: { message: 'Ahoy' },
        headers: { traceparent: `00-${TRACE}-${CALLER}-01` },
      })
      assert.equal(status, 200, text)
    })
    const spans = collector.spans().filter(({ traceId }) => traceId === TRACE)
    /** The names of a span and of all above it. */
    const wayTo = (span: ToldSpan | undefined): string[] =>
      span ? [...wayTo(spans.find(({ spanId }) => spanId === span.parentSpanId)), span.name] : []
    const ways = spans.filter(({ name }) => name.startsWith('chat harbour')).map(wayTo)
    assert.deepEqual(ways, [
      [
        'POST /v1/agents/{agent_id}/invoke',
        'invoke_agent captain',
        'execute_tool ask',
        'invoke_agent mate',
        'chat harbour-1',
      ],
    ])
    const attempts = spans.filter(({ name }) => name === 'invoke_agent captain')
    assert.equal(attempts.length, 2, 'it goes on in the same trace')
  })

  test('traces contain messages if the operator switches that on', async () => {
    model.reset()
    const collector = await told({ OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: 'true' }, async (service) => {
      await createAgent(service, 'pilot', sounding())
      await service.call('POST', '/v1/agents/pilot/invoke', { body: { message: SECRET_MESSAGE } })
    })
    const run = collector.spans().find(({ name }) => name === 'invoke_agent pilot')
    assert.ok(run)
    const said = { role: 'user', parts: [{ type: 'text', content: SECRET_MESSAGE }] }
    assert.deepEqual(JSON.parse(String(attribute(run, 'gen_ai.input.messages'))), [said])
    assert.match(String(attribute(run, 'gen_ai.output.messages')), /"role":"assistant"/)
  })

  test('feedback is an event of its request, with the comment only if content is switched on', async () => {
    for (const content of [false, true]) {
      const settings = content ? { OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: 'true' } : {}
      const collector = await told(settings, async (service) => {
        const { body } = await service.call('POST', '/v1/agents/hello/invoke', { body: { message: 'ahoy' } })
        const path = `/v1/agents/hello/invocations/${body.data.request_id}/feedback`
        for (const score of [-0.5, 0]) {
          const given = { score, key: 'tone', comment: SECRET_MESSAGE }
          assert.equal((await service.call('PUT', path, { body: given })).status, 200)
        }
      })
      const requests = collector.spans().filter(({ name }) => name.startsWith('PUT '))
      const events = requests.flatMap((span) => span.events.map((event) => ({ ...event, span })))
      assert.deepEqual(
        events.map((event) => [
          event.name,
          attribute(event, 'gen_ai.evaluation.name'),
          Number(attribute(event, 'gen_ai.evaluation.score.value')),
          attribute(event, 'gen_ai.evaluation.score.label'),
          attribute(event, 'gen_ai.evaluation.explanation'),
        ]),
        [
          ['gen_ai.evaluation.result', 'tone', -0.5, 'negative', content ? SECRET_MESSAGE : undefined],
          ['gen_ai.evaluation.result', 'tone', 0, 'neutral', content ? SECRET_MESSAGE : undefined],
        ],
      )
      for (const event of events) assert.match(String(attribute(event, 'moorage.request_id')), /^req_/)
    }
  })

  test('failed spans contain the error', async () => {
    model.reset()
    model.reply({ status: 400, body: { error: { message: 'no' } } })
    const collector = await told({}, async (service) => {
      await createAgent(service, 'pilot', sounding())
      const { status } = await service.call('POST', '/v1/agents/pilot/invoke', { body: { message: 'hello' } })
      assert.equal(status, 500)
      await service.call('GET', '/v1/agents/nobody')
    })
    const errors = collector
      .spans()
      .filter(({ status }) => status.code === 2)
      .map((span) => [span.name, attribute(span, 'error.type')])
    assert.deepEqual(
      new Map(errors as [string, unknown][]),
      new Map<string, unknown>([
        ['chat harbour-1', 'ModelFailure'],
        ['invoke_agent pilot', 'server_error'],
        ['POST /v1/agents/{agent_id}/invoke', '500'],
      ]),
    )
    const refused = collector.spans().find((span) => attribute(span, 'http.response.status_code') === 404)
    assert.ok(refused && !refused.status.code, 'what a client did wrong is no error of the service')
  })

  test('a background run has a trace of its own', async () => {
    model.reset()
    const collector = await told({}, async (service) => {
      await createAgent(service, 'pilot', sounding())
      const { body } = await service.call('POST', '/v1/agents/pilot/invoke', {
        body: { message: 'hello' },
        headers: { Prefer: 'respond-async' },
      })
      await service.call('GET', `/v1/agents/pilot/invocations/${body.data.request_id}/stream`)
    })
    const run = collector.spans().find(({ name }) => name === 'invoke_agent pilot')
    assert.ok(run && !run.parentSpanId)
    assert.match(String(attribute(run, 'moorage.request_id')), /^req_/)
  })

  test('a sampler can leave traces out', async () => {
    const collector = await told({ OTEL_TRACES_SAMPLER: 'always_off' }, async (service) => {
      await service.call('POST', '/v1/agents/hello/invoke', { body: { message: 'hello' } })
    })
    assert.deepEqual(collector.spans(), [])
  })

  test('an unreachable collector or an invalid traceparent has no effect on requests', async () => {
    const service = await startService('sqlite', { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' })
    for (const traceparent of ['nonsense', `00-${'0'.repeat(32)}-${CALLER}-01`, '']) {
      const { status } = await service.call('POST', '/v1/agents/hello/invoke', {
        body: { message: 'hello' },
        headers: { traceparent },
      })
      assert.equal(status, 200)
    }
    const started = performance.now()
    await service.stop()
    assert.ok(performance.now() - started < 7_000 * PATIENCE, 'it was waited for')
    assert.match(service.log(), /some telemetry did not reach the OpenTelemetry collector/)
  })

  test('its packages are loaded only if a collector is configured', () => {
    const source = readFileSync(new URL('../../src/telemetry/open-telemetry.ts', import.meta.url), 'utf8')
    const imports = source.match(/^import .*@opentelemetry.*$/gm) ?? []
    for (const line of imports) assert.match(line, /^import type /)
  })
})
