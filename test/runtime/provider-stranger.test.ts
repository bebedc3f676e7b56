import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { LLMock } from '@copilotkit/aimock'
import type { Runtime } from '../../src/runtime/runtime.ts'
import { HttpTool } from '../../src/runtime/spec.ts'
import { type LocalServer, startLocalServer } from '../support/outside/local-server.ts'
import { localRuntime, runOf } from '../support/service/run-agent.ts'

/** Uses a fake provider that someone else has written, so that it does not share our assumptions about protocols. */
describe('a third-party fake provider', () => {
  let mock: LLMock
  let weather: LocalServer
  let runtime: Runtime
  before(async () => {
    mock = new LLMock({ port: 0, host: '127.0.0.1', logLevel: 'silent' })
    mock.on({ userMessage: 'weather', hasToolResult: true }, { content: 'Sunny in Oslo.' })
    mock.on(
      { userMessage: 'weather', hasToolResult: false },
      { toolCalls: [{ name: 'weather', arguments: '{"city":"Oslo"}' }] },
    )
    const usage = { prompt_tokens: 12, completion_tokens: 4, total_tokens: 16, input_tokens: 12, output_tokens: 4 }
    mock.onMessage('hello', { content: 'Hi there, sailor!', usage })
    mock.onMessage('think', { content: 'Four.', reasoning: 'Two and two.' })
    await mock.start()
    weather = await startLocalServer((request, response) => void response.end(`sun over ${request.url}`))
    runtime = localRuntime({
      providers: [
        { name: 'compatible', type: 'openai-compatible', baseUrl: `${mock.url}/v1`, apiKey: 'mock' },
        { name: 'openai', type: 'openai', baseUrl: `${mock.url}/v1`, apiKey: 'mock' },
        { name: 'anthropic', type: 'anthropic', baseUrl: `${mock.url}/v1`, apiKey: 'mock' },
      ],
    })
  })
  after(async () => {
    await runtime.close()
    await Promise.all([mock.stop(), weather.close()])
  })

  for (const model of ['compatible/llama', 'openai/gpt-4o-mini', 'openai/gpt-5', 'anthropic/claude-sonnet-4-5']) {
    const ask = (message: string) => {
      const tool = HttpTool.parse({ type: 'http', name: 'weather', url: `${weather.url}/now` })
      return runtime.run(runOf({ model, tools: [tool] }, { message }))
    }

    test(`${model} answers, with tokens`, async () => {
      const outcome = await ask('hello')
      assert.equal(outcome.status === 'completed' && outcome.response, 'Hi there, sailor!', JSON.stringify(outcome))
      assert.deepEqual(outcome.usage, { input_tokens: 12, output_tokens: 4, total_tokens: 16 })
    })

    test(`${model} calls a tool and reads its result`, async () => {
      const outcome = await ask('weather')
      assert.equal(outcome.status === 'completed' && outcome.response, 'Sunny in Oslo.', JSON.stringify(outcome))
      assert.deepEqual(
        outcome.steps.map(({ kind }) => kind),
        ['model', 'tool', 'model'],
      )
    })

    test(`${model} keeps its reasoning out of the answer`, async () => {
      const outcome = await ask('think')
      assert.equal(outcome.status === 'completed' && outcome.response, 'Four.', JSON.stringify(outcome))
    })

    test(`${model} is retried after 429 and 500, but not after 400`, async () => {
      mock.nextRequestError(429, { message: 'slow down' })
      assert.equal((await ask('hello')).status, 'completed')
      mock.nextRequestError(500)
      assert.equal((await ask('hello')).status, 'completed')
      mock.nextRequestError(400, { message: 'no such parameter' })
      const refused = await ask('hello')
      assert.match(refused.status === 'failed' ? refused.message : refused.status, /answered 400/)
    })
  }
})
