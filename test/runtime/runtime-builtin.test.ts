import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Cancellation } from '../../src/runtime/deadline.ts'
import { modelProblem } from '../../src/runtime/models/registry.ts'
import type { RunEvent } from '../../src/runtime/outcome.ts'
import { Script } from '../../src/runtime/spec.ts'
import { limitsOf, localRuntime, runOf } from '../support/service/run-agent.ts'

const runtime = localRuntime()

async function response(...args: Parameters<typeof runOf>): Promise<string> {
  const outcome = await runtime.run(runOf(...args))
  assert.equal(outcome.status, 'completed', JSON.stringify(outcome))
  return outcome.response
}

const play = (script: unknown, message: string, context = {}) =>
  response({ model: 'builtin/script', script: Script.parse(script) }, { message, context })

describe('builtin/echo', () => {
  test('answers with the message and counts tokens', async () => {
    const outcome = await runtime.run(runOf({}, { message: 'Hello there, friend' }))
    const { steps, ...rest } = outcome
    assert.deepEqual(rest, {
      status: 'completed',
      response: 'Hello there, friend',
      usage: { input_tokens: 5, output_tokens: 5, total_tokens: 10 },
      cost_nano: 0,
      logs: [],
    })
    assert.deepEqual(
      steps.map(({ kind }) => kind),
      ['model'],
    )
  })

  test('streams word by word; the deltas joined are the response', async () => {
    const events: RunEvent[] = []
    const message = '  Hello there,\n\nfriend 👋🏽 '
    assert.equal(await response({}, { message, emit: (event) => events.push(event) }), message)
    const deltas = events.map((event) => (event.type === 'delta' ? event.text : assert.fail(event.type)))
    assert.deepEqual(deltas, ['  ', 'Hello ', 'there,\n\n', 'friend ', '👋🏽 '])
  })

  test('a long text is streamed in a few hundred pieces', async () => {
    const deltas: string[] = []
    const message = 'ahoy '.repeat(49_000)
    await response({}, { message, emit: (event) => deltas.push(event.type === 'delta' ? event.text : '') })
    assert.equal(deltas.join(''), message)
    assert.ok(deltas.length <= 501, `${deltas.length} pieces`)
  })

  test('stops at max_output_tokens and says so in the log', async () => {
    const limits = limitsOf({ max_output_tokens: 2 })
    const outcome = await runtime.run(runOf({ limits }, { message: '0123456789' }))
    assert.equal(outcome.status === 'completed' && outcome.response, '01234567')
    assert.deepEqual(
      outcome.logs.map(({ level, message }) => [level, message]),
      [['warn', 'The answer was cut off at the output token limit.']],
    )
  })

  test('a run cancelled before it starts is cancelled', async () => {
    const cancellation = new Cancellation()
    cancellation.cancel()
    const outcome = await runtime.run(runOf({}, { cancellation }))
    assert.equal(outcome.status, 'cancelled')
  })
})

describe('builtin/script', () => {
  test('the first matching rule answers, ignoring case', async () => {
    const script = {
      rules: [
        { match: { equals: 'ping' }, reply: 'pong' },
        { match: { starts_with: 'call me' }, reply: 'Noted.' },
        { match: { contains: 'WEATHER' }, reply: 'Sunny.' },
      ],
      fallback: 'No idea.',
    }
    assert.equal(await play(script, ' PING '), 'pong')
    assert.equal(await play(script, 'ping!'), 'No idea.')
    assert.equal(await play(script, 'Call me Ishmael'), 'Noted.')
    assert.equal(await play(script, 'please call me'), 'No idea.')
    assert.equal(await play(script, 'How is the weather?'), 'Sunny.')
  })

  test('fills placeholders once: those inside the message stay text', async () => {
    const script = { rules: [{ reply: '{{user_id}}/{{ session_id }}: {{message}} {{other}}' }] }
    assert.equal(
      await play(script, 'I am {{user_id}} $& $1', { user_id: 'ann', session_id: 's1' }),
      'ann/s1: I am {{user_id}} $& $1 {{other}}',
    )
    assert.equal(await play({ fallback: '[{{user_id}}]' }, 'x'), '[]')
  })

  test('fails without a script, and says so', async () => {
    assert.equal(await response({ model: 'builtin/script' }), 'This agent has no script yet.')
  })

  test('can fail on purpose', async () => {
    const script = Script.parse({ rules: [{ fail: 'Out of order' }] })
    const outcome = await runtime.run(runOf({ model: 'builtin/script', script }))
    assert.equal(outcome.status, 'failed')
    assert.equal(outcome.reason, 'error')
    assert.equal(outcome.message, 'Out of order')
    assert.deepEqual(
      outcome.logs.map(({ level, message }) => [level, message]),
      [['error', 'Out of order']],
    )
  })

  test('times out if a delay is longer than the deadline', async () => {
    const script = Script.parse({ rules: [{ reply: 'late', delay_ms: 60_000 }] })
    const limits = limitsOf({ timeout_ms: 20 })
    const outcome = await runtime.run(runOf({ model: 'builtin/script', script, limits }))
    assert.equal(outcome.status, 'failed')
    assert.equal(outcome.reason, 'timeout')
    assert.equal(outcome.message, 'The agent did not answer within 20 ms.')
  })

  test('can be cancelled during a delay', async () => {
    const cancellation = new Cancellation()
    const script = Script.parse({ rules: [{ reply: 'late', delay_ms: 60_000 }] })
    const running = runtime.run(runOf({ model: 'builtin/script', script }, { cancellation }))
    setImmediate(() => cancellation.cancel())
    assert.equal((await running).status, 'cancelled')
  })

  test('close cancels active runs and waits for them', async () => {
    const closing = localRuntime()
    const script = Script.parse({ rules: [{ reply: 'late', delay_ms: 60_000 }] })
    let ended = false
    const running = closing.run(runOf({ model: 'builtin/script', script })).finally(() => {
      ended = true
    })
    await closing.close()
    await Promise.resolve()
    assert.equal(ended, true)
    assert.equal((await running).status, 'cancelled')
  })
})

describe('builtin/recall', () => {
  const model = 'builtin/recall'

  test('answers with what was recalled: at most three memories, best first', async () => {
    const recalled = ['a', 'b', 'c', 'd'].map((content) => ({ content, role: null, created_at: 0 }))
    assert.equal(await response({ model }, { recalled }), 'I remember:\n- a\n- b\n- c')
    assert.equal(await response({ model, memory: { history: 20, recall: 1 } }, { recalled }), 'I remember:\n- a')
  })

  test("otherwise answers with the session's turns that share words with the message", async () => {
    const history = [
      { role: 'user' as const, content: 'My dog is called Bello' },
      { role: 'assistant' as const, content: 'Nice weather today' },
    ]
    assert.equal(
      await response({ model }, { history, message: 'What is my dog called?' }),
      'I remember:\n- My dog is called Bello',
    )
    assert.equal(await response({ model }, { history, message: 'Tell a joke' }), 'I remember nothing about that.')
  })
})

describe('a model name', () => {
  const configured = localRuntime({
    providers: [{ name: 'ollama', type: 'openai-compatible', baseUrl: 'http://127.0.0.1:1/v1' }],
  })

  test('can be a built-in model or one of a configured provider', () => {
    for (const model of ['builtin/echo', 'builtin/script', 'builtin/recall', 'ollama/llama3.2:1b', 'ollama/a/b']) {
      assert.equal(modelProblem(model, ['ollama']), undefined, model)
    }
  })

  test('is rejected with the reason', () => {
    const malformed = 'must be <provider>/<model>, for example builtin/echo'
    for (const model of ['', 'gpt-5', '/x', 'ollama/', 'ollama/a b', `ollama/${'x'.repeat(201)}`]) {
      assert.equal(modelProblem(model, ['ollama']), malformed, model)
    }
    assert.equal(
      modelProblem('builtin/toString', ['ollama']),
      'must be one of the built-in models: builtin/echo, builtin/recall, builtin/script',
    )
    assert.equal(
      modelProblem('openai/gpt-5', ['ollama']),
      'provider openai is not configured; configured: builtin, ollama',
    )
  })

  test('of a provider that no longer exists makes the run fail with the reason', async () => {
    const outcome = await configured.run(runOf({ model: 'openai/gpt-5' }))
    assert.equal(outcome.status, 'failed')
    assert.equal(
      outcome.message,
      'The model openai/gpt-5 is not available: provider openai is not configured; configured: builtin, ollama.',
    )
  })
})
