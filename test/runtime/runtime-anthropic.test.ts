import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Runtime } from '../../src/runtime/runtime.ts'
import { HttpTool } from '../../src/runtime/spec.ts'
import { type LocalServer, readBody, startLocalServer } from '../support/outside/local-server.ts'
import { localRuntime, runOf } from '../support/service/run-agent.ts'

type AnthropicBody = { messages: { role: string; content: unknown }[]; [field: string]: unknown }

const START = {
  type: 'message_start',
  message: {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'claude-test',
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: { input_tokens: 11, output_tokens: 1 },
  },
}

const block = (index: number, content_block: object, ...deltas: object[]) => [
  { type: 'content_block_start', index, content_block },
  ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
  { type: 'content_block_stop', index },
]

const end = (stop_reason: string, output_tokens: number) => [
  { type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage: { output_tokens } },
  { type: 'message_stop' },
]

const ANSWERS = [
  [
    START,
    ...block(
      0,
      { type: 'thinking', thinking: '', signature: '' },
      { type: 'thinking_delta', thinking: 'I need the weather.' },
      { type: 'signature_delta', signature: 'signed' },
    ),
    ...block(
      1,
      { type: 'tool_use', id: 'toolu_1', name: 'weather', input: {} },
      { type: 'input_json_delta', partial_json: '{"city":' },
      { type: 'input_json_delta', partial_json: '"Oslo"}' },
    ),
    ...end('tool_use', 20),
  ],
  [START, ...block(0, { type: 'text', text: '' }, { type: 'text_delta', text: 'Sunny.' }), ...end('end_turn', 4)],
  [START, ...block(0, { type: 'text', text: '' }, { type: 'text_delta', text: 'Sun' })],
]

let anthropic: LocalServer
let weather: LocalServer
let runtime: Runtime
const sent: { body: AnthropicBody; key: unknown }[] = []

before(async () => {
  anthropic = await startLocalServer(async (request, response) => {
    const answer = ANSWERS[sent.length] ?? []
    sent.push({ body: JSON.parse(await readBody(request)), key: request.headers['x-api-key'] })
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const event of answer) response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
    response.end()
  })
  weather = await startLocalServer((_request, response) => void response.end('sun'))
  runtime = localRuntime({
    providers: [{ name: 'anthropic', type: 'anthropic', baseUrl: `${anthropic.url}/v1`, apiKey: 'sk-ant' }],
  })
})
after(async () => {
  await runtime.close()
  await Promise.all([anthropic.close(), weather.close()])
})

describe('a model of Anthropic', () => {
  test('runs the tool loop and gets its signed reasoning back', async () => {
    const tool = HttpTool.parse({ type: 'http', name: 'weather', url: weather.url })
    const outcome = await runtime.run(
      runOf({ model: 'anthropic/claude-test', instructions: 'Be brief.', tools: [tool] }),
    )
    assert.equal(outcome.status === 'completed' && outcome.response, 'Sunny.', JSON.stringify(outcome))
    assert.deepEqual(outcome.usage, { input_tokens: 22, output_tokens: 24, total_tokens: 46 })
    assert.equal(sent[0]?.key, 'sk-ant')
    const marked = { cache_control: { type: 'ephemeral' } }
    assert.deepEqual(sent[0]?.body.system, [{ type: 'text', text: 'Be brief.', ...marked }])
    assert.deepEqual(sent[1]?.body.messages, [
      { role: 'user', content: [{ type: 'text', text: 'Hello there', ...marked }] },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'I need the weather.', signature: 'signed' },
          { type: 'tool_use', id: 'toolu_1', name: 'weather', input: { city: 'Oslo' } },
        ],
      },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'sun', ...marked }] },
    ])
  })
  test('an answer without its end is a failure', async () => {
    const outcome = await runtime.run(runOf({ model: 'anthropic/claude-test' }))
    assert.equal(outcome.status === 'failed' && outcome.message, 'Model provider anthropic ended its answer early.')
  })
})
