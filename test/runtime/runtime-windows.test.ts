import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import type { ModelPrompt } from '../../src/runtime/models/model-request.ts'
import type { Turn } from '../../src/runtime/outcome.ts'
import { fitPrompt } from '../../src/runtime/prompt/fit-prompt.ts'
import { promptRefusal } from '../../src/runtime/providers/provider-failure.ts'
import type { RunOutcome } from '../../src/runtime/run-outcome.ts'
import type { Runtime } from '../../src/runtime/runtime.ts'
import { type ModelServer, startModelServer } from '../support/outside/model-server.ts'
import { limitsOf, localRuntime, runOf, toolCalls } from '../support/service/run-agent.ts'

let server: ModelServer
let runtime: Runtime
let clock = 0

before(async () => {
  server = await startModelServer()
})
after(() => server.close())
beforeEach(() => {
  server.reset()
  clock = 0
  // Each test its own: a runtime remembers what a model refused.
  runtime = localRuntime({
    providers: [{ name: 'local', type: 'openai-compatible', baseUrl: server.url }],
    now: () => clock,
  })
})

const MODEL = 'local/tiny'

/** Turns of a thousand characters, each begun with its number, oldest first. */
function turns(count: number): Turn[] {
  return Array.from({ length: count }, (_, i) => ({
    role: i % 2 === 0 ? 'user' : 'assistant',
    content: `turn ${i}: `.padEnd(1000, 'x'),
  }))
}

function completed(outcome: RunOutcome) {
  return outcome.status === 'completed' ? outcome : assert.fail(JSON.stringify(outcome))
}

/** The numbers of the turns in the last prompt that the model was sent. */
function shownTurns(): number[] {
  const text =
    server.requests
      .at(-1)
      ?.body.messages.map(({ content }) => content)
      .join('\n') ?? ''
  return [...text.matchAll(/turn (\d+):/g)].map((match) => Number(match[1]))
}

function notesOf({ logs }: RunOutcome): string[] {
  return logs.filter(({ message }) => message.includes('Left out')).map(({ level, message }) => `${level} ${message}`)
}

describe("a session that is longer than its model's context", () => {
  test('is answered with its newest turns, and the log says how many were left out', async () => {
    server.takeAtMost(4500)
    const outcome = completed(await runtime.run(runOf({ model: MODEL }, { history: turns(16), message: 'And now?' })))
    assert.equal(outcome.response, 'And now?')
    assert.deepEqual(shownTurns(), [12, 13, 14, 15])
    assert.match(
      notesOf(outcome).at(-1) ?? '',
      /^info The prompt would be too long\. Left out: 12 older turns, 0 memories$/,
    )
    assert.equal(outcome.logs[0]?.level, 'warn')
    assert.match(outcome.logs[0]?.message ?? '', /^Model provider local answered 400: the conversation is too long/)
  })

  test("is not refused again for an hour, because the model's limit is remembered", async () => {
    server.takeAtMost(4500)
    const ask = () => runtime.run(runOf({ model: MODEL }, { history: turns(16) }))
    await ask()
    const asked = server.requests.length
    assert.equal(asked, 3)
    completed(await ask())
    assert.equal(server.requests.length, asked + 1)
    clock += 3_600_001
    completed(await ask())
    assert.equal(server.requests.length, asked + 4)
  })

  test('is retried once if the provider reports its limit', async () => {
    const message =
      "This model's maximum context length is 2000 tokens. However, your messages resulted in 4100 tokens. Please reduce the length of the messages."
    server.takeAtMost(8000, { status: 400, body: { error: { message, code: 'context_length_exceeded' } } })
    completed(await runtime.run(runOf({ model: MODEL }, { history: turns(16) })))
    assert.equal(server.requests.length, 2)
    assert.deepEqual(shownTurns(), [11, 12, 13, 14, 15])
  })

  test('is recognized from an error within the stream, too', async () => {
    const error = {
      code: 500,
      message: 'the request exceeds the available context size',
      type: 'exceed_context_size_error',
    }
    server.takeAtMost(4500, { raw: `data: ${JSON.stringify({ error: error })}\n\n` })
    completed(await runtime.run(runOf({ model: MODEL }, { history: turns(16) })))
    assert.deepEqual(shownTurns(), [12, 13, 14, 15])
  })

  test('is shortened after tool calls as well, and their results are kept', async () => {
    server.takeAtMost(4500)
    server.reply({ calls: [{ name: 'nothing', arguments: {} }] }, { text: ['done'] })
    const outcome = completed(
      await runtime.run(runOf({ model: MODEL }, { history: turns(4), message: 'x'.repeat(400) })),
    )
    assert.equal(outcome.response, 'done')
    assert.equal(toolCalls(outcome).length, 1)
  })

  test('keeps the turns around one that is too long and is cut', async () => {
    const [first, second] = turns(2) as [Turn, Turn]
    const long: Turn = { role: 'user', content: 'turn 7: '.padEnd(60_000, 'ö') }
    server.takeAtMost(8000)
    completed(await runtime.run(runOf({ model: MODEL }, { history: [first, long, second] })))
    assert.deepEqual(shownTurns().slice(-2), [7, 1])
    const sent = server.requests.at(-1)?.body.messages.find(({ content }) => content?.includes('turn 7:'))
    assert.match(sent?.content ?? '', /ö \[…\]$/)
  })

  test('fails if instructions and message alone are too long, which does not affect other runs', async () => {
    server.takeAtMost(4500)
    const message = 'y'.repeat(5000)
    const outcome = await runtime.run(
      runOf({ model: MODEL, instructions: 'Be brief.' }, { history: turns(3), message }),
    )
    assert.equal(outcome.status, 'failed')
    assert.equal(
      outcome.status === 'failed' && outcome.message,
      'Model provider local answered 400: the conversation is too long for the model.',
    )
    const last = server.requests.at(-1)?.body.messages
    assert.deepEqual(last, [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: message },
    ])
    completed(await runtime.run(runOf({ model: MODEL }, { history: turns(3) })))
    assert.deepEqual(shownTurns(), [0, 1, 2])
  })
})

describe('limits.max_input_tokens', () => {
  const limits = limitsOf({ max_input_tokens: 1000 })

  test('shortens the prompt before the model is called', async () => {
    const outcome = completed(await runtime.run(runOf({ model: MODEL, limits }, { history: turns(16) })))
    assert.equal(server.requests.length, 1)
    assert.deepEqual(shownTurns(), [13, 14, 15])
    assert.equal(notesOf(outcome).length, 1)
  })

  test('memories get a quarter of it next to a long history, best first', async () => {
    const recalled = ['best', 'second', 'third'].map((word) => ({
      content: word.padEnd(600, '.'),
      role: null,
      created_at: 0,
    }))
    await runtime.run(runOf({ model: MODEL, limits }, { history: turns(16), recalled }))
    const prompt = JSON.stringify(server.requests.at(-1)?.body.messages)
    assert.match(prompt, /best\./)
    assert.doesNotMatch(prompt, /second\.|third\./)
    assert.deepEqual(shownTurns(), [14, 15])
  })

  test('memories reduce the history, so both together stay within it', async () => {
    const recalled = ['best', 'second', 'third'].map((word) => ({
      content: word.padEnd(300, '.'),
      role: null,
      created_at: 0,
    }))
    const history = turns(16).map(({ role, content }) => ({ role, content: content.slice(0, 400) }))
    await runtime.run(runOf({ model: MODEL, limits }, { history, recalled }))
    const prompt =
      server.requests
        .at(-1)
        ?.body.messages.map(({ content }) => content)
        .join('') ?? ''
    assert.match(prompt, /best\./)
    assert.match(prompt, /second\./)
    assert.ok(shownTurns().includes(15))
    // A token is counted as four characters.
    assert.ok(prompt.length <= 4 * 1000, `${prompt.length} characters`)
  })

  test('applies to built-in models, too', async () => {
    const words = 'the lighthouse keeper '
    const history: Turn[] = [{ role: 'user', content: words.repeat(400) }, ...turns(3)]
    const asked = { history, message: 'What about the lighthouse?' }
    const all = completed(await runtime.run(runOf({ model: 'builtin/recall' }, asked)))
    assert.match(all.response, /lighthouse keeper/)
    const few = completed(await runtime.run(runOf({ model: 'builtin/recall', limits }, asked)))
    assert.equal(few.response, 'I remember nothing about that.')
  })

  test('nothing is left out or logged if everything fits', async () => {
    const outcome = completed(await runtime.run(runOf({ model: MODEL, limits }, { history: turns(3) })))
    assert.deepEqual(shownTurns(), [0, 1, 2])
    assert.deepEqual(outcome.logs, [])
  })
})

describe('errors of servers for a prompt that is too long', () => {
  for (const [status, text, max_tokens] of [
    [400, "This model's maximum context length is 8192 tokens. However, your messages resulted in 8545 tokens.", 8192],
    [400, 'Your input exceeds the context window of this model.', undefined],
    [400, 'prompt is too long: 208310 tokens > 200000 maximum', 200_000],
    [400, 'input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000', 200_000],
    [400, 'The decoder prompt (length 5000) is longer than the maximum model length of 4096.', 4096],
    [400, 'the request exceeds the available context size.\n{"error":{"n_prompt_tokens":1407,"n_ctx":256}}', 256],
    [400, 'The number of tokens to keep from the initial prompt is greater than the context length', undefined],
    [400, 'Please reduce the length of the messages or completion.', undefined],
    [400, 'The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).', 1_048_575],
    [400, "This model's maximum prompt length is 131072 but the request contains 537812 tokens.", 131_072],
    [422, '`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens', 4096],
    [400, 'Input is too long for requested model.', undefined],
    [413, 'Payload Too Large', undefined],
    [429, 'Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 40912.', 30_000],
  ] as const) {
    test(`${status} ${text.slice(0, 60)}`, () => {
      assert.deepEqual(promptRefusal(status, text), { max_tokens })
    })
  }

  for (const [status, text] of [
    [400, 'temperature must be at most 2'],
    [401, 'Incorrect API key provided'],
    [429, 'Rate limit reached for gpt-4o on tokens per min (TPM): Limit 30000, Used 29000, Requested 2000.'],
    [503, 'The server is overloaded'],
  ] as const) {
    test(`not recognized: ${status} ${text.slice(0, 60)}`, () => {
      assert.equal(promptRefusal(status, text), undefined)
    })
  }
})

describe('a prompt whose tool results alone are too long', () => {
  /** How often the body is serialized until the prompt fits. Serializing takes 20 ms for 4 MB. */
  const written = (results: number, budget: number) => {
    let writes = 0
    const { agent, message, context } = runOf({ model: MODEL, memory: { history: 200, recall: 0 } })
    const calls = Array.from({ length: results }, (_, i) => ({ id: `c${i}`, name: 'look', arguments: '{}' }))
    const rounds = [{ calls, results: calls.map(() => ({ result: 'x'.repeat(1_000) })) }]
    const input = { agent, message, context, history: turns(50), recalled: [] }
    const prompt = { input, rounds, tools: [] } as unknown as ModelPrompt
    const prepare = (one: ModelPrompt) => {
      writes++
      const bytes = JSON.stringify([one.input, one.rounds]).length
      return { tokens: Math.ceil(bytes / 3), most_tokens: bytes, instruction: () => '', answer: () => assert.fail() }
    }
    const { input: fitted, left_out } = fitPrompt(prompt, { prepare }, budget)
    return { writes, shown: fitted.history.length, left_out: left_out?.turns }
  }

  test('is built once, without its history', () => {
    assert.deepEqual(written(40, 1_000), { writes: 1, shown: 0, left_out: 50 })
  })

  test('is also built only once if it fits', () => {
    assert.deepEqual(written(1, 100_000), { writes: 1, shown: 50, left_out: undefined })
  })
})
