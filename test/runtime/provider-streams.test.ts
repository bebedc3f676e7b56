import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setImmediate as nextPass } from 'node:timers/promises'
import type { Runtime } from '../../src/runtime/runtime.ts'
import { type LocalServer, readBody, startLocalServer } from '../support/outside/local-server.ts'
import { ANTHROPIC_STREAMS, CHAT_STREAMS, type ProviderStream } from '../support/outside/provider-streams.ts'
import { localRuntime, runOf } from '../support/service/run-agent.ts'

type SentPrompt = { messages: Record<string, unknown>[] }

const DONE = {
  chat: {
    choices: [{ message: { content: 'Done.' }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 0, completion_tokens: 0 },
  },
  anthropic: {
    type: 'message',
    content: [{ type: 'text', text: 'Done.' }],
    stop_reason: 'end_turn',
    usage: { input_tokens: 0, output_tokens: 0 },
  },
}

const WARNINGS = {
  stop: [],
  length: ['The answer was cut off at the output token limit.'],
  filtered: ['The model stopped early (content filter).'],
}

let server: LocalServer
let runtime: Runtime
let requests: SentPrompt[] = []
/** The first reply of a run, and in pieces of how many bytes it is sent. After the calls of tools the model is done. */
let reply: { stream: ProviderStream; bytes: number }

before(async () => {
  server = await startLocalServer(async (request, response) => {
    requests.push(JSON.parse(await readBody(request)))
    const { stream, bytes } = reply
    if (requests.length > 1) {
      response.end(JSON.stringify(DONE[stream.api]))
      return
    }
    response.writeHead(200, { 'content-type': stream.contentType ?? 'text/event-stream' })
    const body = Buffer.from(stream.sent)
    for (let at = 0; at < body.length; at += bytes) {
      response.write(body.subarray(at, at + bytes))
      await nextPass()
    }
    response.end()
  })
  runtime = localRuntime({
    providers: [{ name: 'local', type: 'openai-compatible', baseUrl: server.url }],
  })
})
after(async () => {
  await runtime.close()
  await server.close()
})

const runtimeFor = (api: ProviderStream['api']) =>
  api === 'chat' ? runtime : localRuntime({ providers: [{ name: 'local', type: 'anthropic', baseUrl: server.url }] })

for (const [what, streams] of [
  ['Chat Completions', CHAT_STREAMS],
  ['Anthropic Messages', ANTHROPIC_STREAMS],
] as const) {
  describe(`an answer as ${what}`, () => {
    for (const stream of streams) {
      for (const bytes of [Infinity, 5]) {
        test(`${stream.name}${bytes === Infinity ? '' : ', in small pieces'}`, async () => {
          requests = []
          reply = { stream, bytes: Math.min(bytes, Buffer.byteLength(stream.sent)) }
          const asked = runtimeFor(stream.api)
          const outcome = await asked.run(runOf({ model: 'local/model' }))
          if (asked !== runtime) await asked.close()
          const becomes = (bytes === Infinity && stream.atOnce) || stream.becomes
          checkOutcome({ ...stream, becomes }, outcome)
        })
      }
    }
  })
}

function checkOutcome({ becomes, api }: ProviderStream, outcome: Awaited<ReturnType<Runtime['run']>>) {
  if ('failure' in becomes) {
    assert.equal(outcome.status === 'failed' && outcome.message, becomes.failure, JSON.stringify(outcome))
    return
  }
  const { response, calls = [], usage, finish, again } = becomes
  assert.equal(outcome.status, 'completed', JSON.stringify(outcome))
  if (response !== undefined) {
    const whole = calls.length > 0 ? [response, 'Done.'].filter((text) => text !== '').join('\n\n') : response
    assert.equal(outcome.response, whole)
  }
  if (usage) {
    const { total_tokens: _total, ...counted } = outcome.usage
    assert.deepEqual(counted, usage)
  }
  if (finish)
    assert.deepEqual(
      outcome.logs.map(({ message }) => message),
      WARNINGS[finish],
    )
  const answers = outcome.steps.filter((step) => step.kind === 'model').map(({ answer }) => answer)
  assert.deepEqual(answers[0]?.calls, calls)
  if (again) assert.deepEqual(shownAgain(api), { ...again, ids: calls.map(({ id }) => id) })
}

/** What the provider got of its own answer in the next round. */
function shownAgain(api: ProviderStream['api']) {
  const assistant = requests[1]?.messages.find(({ role }) => role === 'assistant') ?? {}
  if (api === 'anthropic') {
    const content = assistant['content'] as { type: string; id?: string }[]
    return { content, ids: content.filter(({ type }) => type === 'tool_use').map(({ id }) => id) }
  }
  const { role: _role, content: _content, tool_calls, ...reasoning } = assistant
  const called = tool_calls as { id: string; extra_content?: unknown }[]
  const extras = called.map(({ extra_content = null }) => extra_content)
  return {
    ...(Object.keys(reasoning).length > 0 && { reasoning }),
    ...(extras.some((extra) => extra !== null) && { extras }),
    ids: called.map(({ id }) => id),
  }
}

describe('a provider that sends too much, or odd numbers', () => {
  const outcomeOf = async (sent: string, contentType?: string) => {
    requests = []
    const stream: ProviderStream = {
      name: '',
      seen: '',
      api: 'chat',
      sent,
      becomes: {},
      ...(contentType && { contentType }),
    }
    reply = { stream, bytes: Buffer.byteLength(sent) }
    return runtime.run(runOf({ model: 'local/model' }))
  }
  const event = (value: unknown) => `data: ${JSON.stringify(value)}\n\n`
  const NOT_AN_ANSWER = 'Model provider local returned something that is not an answer.'

  for (const [what, sent] of [
    ['one endless line', `data: ${'x'.repeat(3_000_000)}`],
    ['one endless JSON', `{"choices":"${'x'.repeat(3_000_000)}`],
    ['a JSON of a million values', `{"choices":[${'{},'.repeat(500_000)}{}]}`],
    ['an event of a million values', `data: {"choices":[${'{},'.repeat(500_000)}{}]}\n\n`],
  ] as const) {
    test(`${what} is a failure`, async () => {
      const outcome = await outcomeOf(sent)
      assert.equal(outcome.status === 'failed' && outcome.message, NOT_AN_ANSWER)
    })
  }

  test('a thousand calls at once are a failure', async () => {
    const tool_calls = Array.from({ length: 1_000 }, (_, index) => ({
      index,
      id: `c${index}`,
      function: { name: 'x' },
    }))
    const outcome = await outcomeOf(event({ choices: [{ index: 0, delta: { tool_calls } }] }))
    assert.equal(
      outcome.status === 'failed' && outcome.message,
      'The model made more than 128 tool calls in one answer.',
    )
  })

  test('tokens that cannot be are estimated instead', async () => {
    const totalOf = async (usage: string) => {
      const said = event({ choices: [{ index: 0, delta: { content: 'Hello' }, finish_reason: 'stop' }] })
      const { usage: counted } = await outcomeOf(`${said}data: {"choices":[],"usage":${usage}}\n\n`)
      return counted.total_tokens
    }
    const most = 1e12
    assert.equal(await totalOf(`{"prompt_tokens":${most},"completion_tokens":1}`), most + 1)
    for (const usage of [
      `{"prompt_tokens":1e300,"completion_tokens":1e400,"total_tokens":-5}`,
      `{"prompt_tokens":${most + 1},"completion_tokens":${most + 1}}`,
    ]) {
      const total = await totalOf(usage)
      assert.ok(total > 0 && total < 1_000, String(total))
    }
  })
})
