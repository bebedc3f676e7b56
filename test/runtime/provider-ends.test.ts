import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { type AddressInfo, createServer } from 'node:net'
import { after, before, beforeEach, describe, test } from 'node:test'
import { setImmediate as nextPass } from 'node:timers/promises'
import { HttpTool } from '../../src/runtime/spec.ts'
import { chatChunk } from '../support/outside/chat-chunk.ts'
import { type LocalServer, readBody, startLocalServer } from '../support/outside/local-server.ts'
import { FREE_METER } from '../support/service/free-meter.ts'
import { limitsOf, localRuntime, runOf, toolCalls } from '../support/service/run-agent.ts'

type Answer = (response: ServerResponse) => void

let provider: LocalServer
let shop: LocalServer
let runtime: ReturnType<typeof localRuntime>
/** What the next requests are answered with, and what was asked. */
let answers: Answer[] = []
let asked: { messages: { role: string; content: unknown }[] }[] = []
const removed: unknown[] = []

before(async () => {
  provider = await startLocalServer(async (request, response) => {
    asked.push(JSON.parse(await readBody(request)))
    answers.shift()?.(response)
  })
  shop = await startLocalServer(async (request, response) => {
    removed.push(JSON.parse(await readBody(request)))
    response.end('removed')
  })
  runtime = localRuntime({
    providers: [
      { name: 'chat', type: 'openai-compatible', baseUrl: provider.url },
      { name: 'twin', type: 'openai-compatible', baseUrl: provider.url },
      { name: 'claude', type: 'anthropic', baseUrl: provider.url },
    ],
  })
})
after(async () => {
  await runtime.close()
  await Promise.all([provider.close(), shop.close()])
})
beforeEach(() => {
  asked = []
  removed.length = 0
})

const event = (value: { type: string; [field: string]: unknown }) =>
  `event: ${value.type}\ndata: ${JSON.stringify(value)}\n\n`
const CALL = { index: 0, id: 'c1', function: { name: 'remove', arguments: '' } }
const CUT = {
  chat: `${chatChunk({ tool_calls: [CALL] })}${chatChunk({}, 'length')}data: [DONE]\n\n`,
  claude:
    event({
      type: 'content_block_start',
      index: 0,
      content_block: { type: 'tool_use', id: 'c1', name: 'remove', input: {} },
    }) +
    event({ type: 'message_delta', delta: { stop_reason: 'max_tokens' } }) +
    event({ type: 'message_stop' }),
}
const SAID = {
  chat: `${chatChunk({ content: 'Calm.' }, 'stop')}data: [DONE]\n\n`,
  claude:
    event({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Calm.' } }) +
    event({ type: 'message_delta', delta: { stop_reason: 'end_turn' } }) +
    event({ type: 'message_stop' }),
}
const PROTOCOLS = ['chat', 'claude'] as const

describe('a tool call that is cut off at the output limit', () => {
  for (const name of PROTOCOLS) {
    test(`is not made, and the model gets the reason (${name})`, async () => {
      answers = [(response) => response.end(CUT[name]), (response) => response.end(SAID[name])]
      const tool = HttpTool.parse({
        type: 'http',
        name: 'remove',
        description: 'Removes what fits the filter',
        url: shop.url,
        input_schema: { type: 'object', properties: { filter: { type: 'string' } } },
      })
      const outcome = await runtime.run(runOf({ model: `${name}/model`, tools: [tool] }))
      assert.equal(outcome.status === 'completed' && outcome.response, 'Calm.', JSON.stringify(outcome))
      assert.deepEqual(removed, [])
      const [call] = toolCalls(outcome)
      assert.match(call && 'error' in call ? call.error : '', /^The call was not made, because the answer was cut off/)
      assert.match(JSON.stringify(asked[1]?.messages.at(-1)), /The call was not made, because the answer was cut off/)
    })

    test(`is not sent to the caller, and the model gets the reason (${name})`, async () => {
      answers = [(response) => response.end(CUT[name]), (response) => response.end(SAID[name])]
      const tools = [{ name: 'remove', description: 'Removes', input_schema: { type: 'object' } }]
      const outcome = await runtime.run(runOf({ model: `${name}/model` }, { given: { tools } }))
      assert.equal(outcome.status === 'completed' && outcome.response, 'Calm.', JSON.stringify(outcome))
      assert.match(JSON.stringify(asked[1]?.messages.at(-1)), /The call was not made, because the answer was cut off/)
    })
  }
})

describe('a provider that keeps its response open after the end of the answer', () => {
  for (const name of PROTOCOLS) {
    test(`completes the run, and its connection is closed (${name})`, async () => {
      const closed = Promise.withResolvers<boolean>()
      answers = [
        (response) => {
          response.on('close', () => closed.resolve(response.writableEnded))
          response.write(SAID[name])
        },
      ]
      const outcome = await runtime.run(runOf({ model: `${name}/model`, limits: limitsOf({ timeout_ms: 20_000 }) }))
      assert.equal(outcome.status === 'completed' && outcome.response, 'Calm.', JSON.stringify(outcome))
      assert.equal(await closed.promise, false)
    })
  }

  test('a response that ends keeps its connection for the next call', async (t) => {
    const fresh = localRuntime({ providers: [{ name: 'chat', type: 'openai-compatible', baseUrl: provider.url }] })
    t.after(() => fresh.close())
    const ports: unknown[] = []
    const answer: Answer = (response) => {
      ports.push(response.socket?.remotePort)
      response.end(SAID.chat)
    }
    answers = [answer, answer]
    while (answers.length > 0) {
      assert.equal((await fresh.run(runOf({ model: 'chat/model' }))).status, 'completed')
      // The client frees a connection in the next pass of the event loop.
      await nextPass()
    }
    assert.equal(ports[0], ports[1])
  })
})

describe('interim responses', () => {
  for (const status of [102, 103]) {
    test(`${status} is no answer, and no refusal`, async () => {
      answers = [
        (response) => {
          if (status === 102) response.writeProcessing()
          else response.writeEarlyHints({ link: '</style.css>; rel=preload' })
          response.end(SAID.chat)
        },
      ]
      const outcome = await runtime.run(runOf({ model: 'chat/model' }))
      assert.equal(outcome.status === 'completed' && outcome.response, 'Calm.', JSON.stringify(outcome))
    })
  }
})

describe('overload that is reported inside a reply with 200', () => {
  for (const [name, said] of [
    ['claude', event({ type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } })],
    ['chat', `data: ${JSON.stringify({ error: { message: 'No capacity', code: 503 } })}\n\n`],
  ] as const) {
    test(`is tried again, and then taken to the next model (${name})`, async () => {
      const other = name === 'chat' ? 'claude' : 'chat'
      const overloaded = Array.from({ length: 4 }, (): Answer => (response) => response.end(said))
      answers = [...overloaded, (response) => response.end(SAID[other])]
      const outcome = await runtime.run(runOf({ model: [`${name}/model`, `${other}/model`] }))
      assert.equal(outcome.status === 'completed' && outcome.response, 'Calm.', JSON.stringify(outcome))
      assert.equal(asked.length, 5)
    })
  }
})

describe('a model that is called after another one has called a tool', () => {
  const thought = { reasoning_content: 'Hm', tool_calls: [{ ...CALL, extra_content: { signed: 'x' } }] }
  const looking: Answer = (response) =>
    response.end(
      `${chatChunk({ content: 'I will look it up first.' })}${chatChunk(thought)}${chatChunk({}, 'tool_calls')}`,
    )
  const busy = Array.from({ length: 4 }, (): Answer => (response) => response.writeHead(503).end())
  const shownTo = async (name: 'claude' | 'twin') => {
    answers = [looking, ...busy, (response) => response.end(SAID[name === 'twin' ? 'chat' : name])]
    const outcome = await runtime.run(runOf({ model: ['chat/model', `${name}/model`] }))
    assert.equal(outcome.status, 'completed', JSON.stringify(outcome))
    return asked.at(-1)?.messages.find(({ role }) => role === 'assistant')
  }

  test("gets the other model's text, even with another protocol", async () => {
    assert.deepEqual((await shownTo('claude'))?.content, [
      { type: 'text', text: 'I will look it up first.' },
      { type: 'tool_use', id: 'c1', name: 'remove', input: {} },
    ])
  })

  test("does not get the other provider's own fields", async () => {
    assert.deepEqual(await shownTo('twin'), {
      role: 'assistant',
      content: 'I will look it up first.',
      tool_calls: [{ id: 'c1', type: 'function', function: { name: 'remove', arguments: '{}' } }],
    })
  })
})

describe('an answer that breaks off', () => {
  const words = 'word '.repeat(2_000)
  /** A lower bound of the received tokens. */
  const HEARD = 2_000
  const FIRST = { id: 'c', choices: [], usage: { prompt_tokens: 25, completion_tokens: 1 } }
  const START = {
    type: 'message_start',
    message: { id: 'm', role: 'assistant', content: [], usage: { input_tokens: 25, output_tokens: 1 } },
  }
  const delta = (fields: object) => event({ type: 'content_block_delta', index: 0, delta: fields })
  const begun = { chat: `data: ${JSON.stringify(FIRST)}\n\n`, claude: event(START) }
  const text = { chat: chatChunk({ content: words }), claude: delta({ type: 'text_delta', text: words }) }
  const thoughts = {
    chat: chatChunk({ reasoning_content: words }),
    claude: delta({ type: 'thinking_delta', thinking: words }),
  }
  const spentOn = async (name: string, said: string) => {
    const attempts: { output_tokens: number }[] = []
    answers = Array.from({ length: 4 }, (): Answer => (response) => response.end(said))
    const begin = async () => ({
      max_output_tokens: undefined,
      end: (_status: unknown, tokens: { output_tokens: number }) => {
        attempts.push(tokens)
        return 0
      },
    })
    const outcome = await runtime.run(runOf({ model: `${name}/model` }, { meter: { ...FREE_METER, begin } }))
    assert.equal(outcome.status, 'failed', JSON.stringify(outcome))
    return attempts.map(({ output_tokens }) => output_tokens)
  }

  for (const name of PROTOCOLS) {
    test(`costs what was received, whatever usage was reported at its start (${name})`, async () => {
      const [spent = 0, ...others] = await spentOn(name, begun[name] + text[name])
      assert.ok(spent >= HEARD, `${spent} tokens`)
      assert.deepEqual(others, [])
    })

    test(`costs its reasoning, for each try (${name})`, async () => {
      const spent = await spentOn(name, thoughts[name])
      assert.equal(spent.length, 4)
      assert.ok(
        spent.every((tokens) => tokens >= HEARD),
        `${spent} tokens`,
      )
    })

    test(`costs the received part of a tool call (${name})`, async () => {
      const [spent = 0] = await spentOn(name, CUT[name].slice(0, CUT[name].indexOf('\n\n') + 2))
      assert.ok(spent > 0)
    })
  }
})

test('a request that never left is not charged', async (t) => {
  // It accepts connections, but never answers the TLS handshake.
  const silent = createServer()
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
  const baseUrl = `https://127.0.0.1:${(silent.address() as AddressInfo).port}`
  const dead = localRuntime({ providers: [{ name: 'dead', type: 'openai-compatible', baseUrl }] })
  const sockets: { destroy(): void }[] = []
  silent.on('connection', (socket) => sockets.push(socket))
  t.after(async () => {
    await dead.close()
    for (const socket of sockets) socket.destroy()
    silent.close()
  })
  const outcome = await dead.run(runOf({ model: 'dead/model', limits: limitsOf({ timeout_ms: 1_000 }) }))
  assert.equal(outcome.status === 'failed' && outcome.reason, 'timeout')
  assert.equal(sockets.length, 1)
  assert.equal(outcome.usage.total_tokens, 0)
})
