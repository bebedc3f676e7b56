import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { attribute, startCollector, type ToldSpan } from '../support/outside/collector.ts'
import { LOCAL_TOOLS, readBody, startLocalServer } from '../support/outside/local-server.ts'
import { type ModelServer, startModelServer } from '../support/outside/model-server.ts'
import { type Service, startService } from '../support/service/service.ts'
import { localProvider } from '../support/service/with-model.ts'
import { createAgent } from '../support/slices/resources.ts'

const CONTENT = [
  'gen_ai.input.messages',
  'gen_ai.output.messages',
  'gen_ai.system_instructions',
  'gen_ai.tool.call.arguments',
  'gen_ai.tool.call.result',
  'user.id',
]
const CONTEXT = { user_id: 'ada', session_id: 'session-1' }

describe('spans with the conventions for generative AI', () => {
  let model: ModelServer
  let tool: Awaited<ReturnType<typeof startLocalServer>>
  let result = '{"depth":12}'
  before(async () => {
    model = await startModelServer()
    tool = await startLocalServer(async (request, response) => {
      await readBody(request)
      response.end(result)
    })
  })
  after(async () => {
    await model.close()
    await tool.close()
  })

  async function spansOf(
    settings: Record<string, string>,
    message: string,
    story?: (service: Service) => Promise<void>,
  ) {
    const collector = await startCollector()
    model.reset()
    model.reply(
      { text: ['I look.'], calls: [{ name: 'depth', arguments: { place: 'quay' } }] },
      {
        text: ['twelve metres'],
        usage: { prompt_tokens: 10, completion_tokens: 5, prompt_tokens_details: { cached_tokens: 2 } },
      },
    )
    const service = await startService('sqlite', {
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      ...LOCAL_TOOLS,
      ...localProvider(model.url),
      ...settings,
    })
    try {
      await createAgent(service, 'pilot', {
        description: 'Knows the harbour',
        instructions: 'Be brief.',
        model: 'local/harbour-1',
        tools: [
          {
            type: 'http',
            name: 'depth',
            description: 'depth of water',
            method: 'GET',
            url: `${tool.url}/depth?at={place}`,
            input_schema: { type: 'object', properties: { place: { type: 'string' } }, required: ['place'] },
          },
        ],
      })
      await story?.(service)
      const { status, text } = await service.call('POST', '/v1/agents/pilot/invoke', {
        body: { message, context: CONTEXT },
      })
      assert.equal(status, 200, text)
    } finally {
      await service.stop()
      await collector.close()
    }
    const named = (name: string) => collector.spans().filter((span) => span.name === name)
    return { runs: named('invoke_agent pilot'), chats: named('chat harbour-1'), calls: named('execute_tool depth') }
  }

  const told = (span: ToldSpan | undefined, keys: string[]) =>
    Object.fromEntries(keys.map((key) => [key, span && attribute(span, key)]))
  const json = (span: ToldSpan | undefined, key: string) => JSON.parse(String(span && attribute(span, key)))

  test('contain version, session, server, response and tool, and no content', async () => {
    const { runs, chats, calls } = await spansOf({}, 'how deep?', async (service) => {
      const { status, text } = await service.call('POST', '/v1/agents/pilot/deployments', {
        body: { version: 'v7', environment: 'production' },
      })
      assert.equal(status, 201, text)
    })
    assert.deepEqual(
      told(runs[0], ['gen_ai.agent.version', 'gen_ai.agent.description', 'gen_ai.conversation.id', 'session.id']),
      {
        'gen_ai.agent.version': 'v7',
        'gen_ai.agent.description': 'Knows the harbour',
        'gen_ai.conversation.id': 'session-1',
        'session.id': 'session-1',
      },
    )
    const { hostname, port } = new URL(model.url)
    for (const chat of chats) {
      assert.deepEqual(told(chat, ['gen_ai.response.id', 'gen_ai.request.stream', 'server.address', 'server.port']), {
        'gen_ai.response.id': 'chatcmpl-1',
        'gen_ai.request.stream': true,
        'server.address': hostname,
        'server.port': Number(port),
      })
      assert.ok(Number(attribute(chat, 'gen_ai.response.time_to_first_chunk')) > 0)
    }
    assert.equal(chats[1] && attribute(chats[1], 'gen_ai.usage.cache_read.input_tokens'), 2)
    assert.equal(calls[0] && attribute(calls[0], 'gen_ai.tool.description'), 'depth of water')
    for (const span of [...runs, ...chats, ...calls]) {
      for (const key of CONTENT) assert.equal(attribute(span, key), undefined, `${key} of ${span.name}`)
    }
  })

  test('contain the prompts, answers, tool arguments and results if content is switched on', async () => {
    const { runs, chats, calls } = await spansOf({ MOORAGE_OTEL__CONTENT: 'true' }, 'how deep?')
    assert.equal(runs[0] && attribute(runs[0], 'user.id'), 'ada')
    const [first, second] = chats
    const asked = { role: 'user', parts: [{ type: 'text', content: 'how deep?' }] }
    const call = { type: 'tool_call', id: 'call_1', name: 'depth', arguments: { place: 'quay' } }
    const looked = { role: 'assistant', parts: [{ type: 'text', content: 'I look.' }, call] }
    const [instructions] = json(first, 'gen_ai.system_instructions')
    assert.match(instructions.content, /^Be brief\.\n\n/)
    assert.deepEqual(json(first, 'gen_ai.input.messages'), [asked])
    assert.deepEqual(json(first, 'gen_ai.output.messages'), [{ ...looked, finish_reason: 'tool_call' }])
    assert.deepEqual(json(second, 'gen_ai.input.messages'), [
      asked,
      looked,
      { role: 'tool', parts: [{ type: 'tool_call_response', id: 'call_1', response: '{"depth":12}' }] },
    ])
    assert.deepEqual(json(second, 'gen_ai.output.messages'), [
      { role: 'assistant', parts: [{ type: 'text', content: 'twelve metres' }], finish_reason: 'stop' },
    ])
    assert.deepEqual(json(calls[0], 'gen_ai.tool.call.arguments'), { place: 'quay' })
    assert.deepEqual(json(calls[0], 'gen_ai.tool.call.result'), { depth: 12 })
  })

  test('cut long texts, and keep short ones complete', async () => {
    result = 'deep '.repeat(40_000)
    const { runs, chats, calls } = await spansOf({ MOORAGE_OTEL__CONTENT: 'true' }, 'long '.repeat(12_000))
    for (const span of [...runs, ...chats, ...calls]) {
      for (const { key, value } of span.attributes) {
        assert.ok((value.stringValue?.length ?? 0) < 34_000, `${key} of ${span.name}: ${value.stringValue?.length}`)
      }
    }
    const [asked, looked, heard] = json(chats[1], 'gen_ai.input.messages')
    for (const { content, response } of [asked.parts[0], heard.parts[0]]) assert.match(content ?? response, / \[…\]$/)
    assert.equal(looked.parts[0].content, 'I look.')
  })
})
