import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import { Cancellation } from '../../src/runtime/deadline.ts'
import type { Runtime } from '../../src/runtime/runtime.ts'
import { HttpTool, McpTool, Script } from '../../src/runtime/spec.ts'
import { startLocalServer } from '../support/outside/local-server.ts'
import { type McpServer, startMcpServer } from '../support/outside/mcp-server.ts'
import { type ModelServer, startModelServer } from '../support/outside/model-server.ts'
import { inOneAttempt } from '../support/running/attempts.ts'
import { until } from '../support/running/until.ts'
import { limitsOf, localRuntime, runOf, toolCalls } from '../support/service/run-agent.ts'

const SECRET = 'mcp-token-1234'

let model: ModelServer
let first: McpServer
let second: McpServer
let runtime: Runtime

before(async () => {
  model = await startModelServer()
  first = await startMcpServer([
    {
      name: 'search',
      description: 'Finds notes',
      inputSchema: { type: 'object', properties: { query: { type: 'string' } }, required: ['query'] },
      call: ({ query }) => `found ${query}`,
    },
    { name: 'notes.delete', call: () => 'deleted' },
    { name: 'whoami', call: (_args, headers) => `you sent ${headers['x-token']}` },
    {
      name: 'fail',
      call: () => {
        throw new Error('no such note')
      },
    },
    { name: 'hang', silent: true },
    { name: 'huge', call: () => 'x'.repeat(256 * 1024 + 1) },
    { name: 'flood', call: () => 'x'.repeat(1024 * 1024) },
  ])
  second = await startMcpServer([{ name: 'search', call: () => 'found elsewhere' }])
  runtime = localRuntime({
    providers: [{ name: 'local', type: 'openai-compatible', baseUrl: model.url }],
    secrets: async () => ({ TOKEN: { value: SECRET, hosts: [first.host] } }),
  })
})
after(async () => {
  await runtime.close()
  await Promise.all([model.close(), first.close(), second.close()])
})
beforeEach(() => {
  model.reset()
  first.seen.length = 0
  second.seen.length = 0
})

const mcp = (server: { url: string }, more: Record<string, unknown> = {}) =>
  McpTool.parse({ type: 'mcp', url: server.url, ...more })

async function callOnce(name: string, args: Record<string, unknown>, tools = [mcp(first)]) {
  const script = Script.parse({ rules: [{ call: { tool: name, arguments: args } }] })
  const outcome = await runtime.run(runOf({ model: 'builtin/script', script, tools }))
  const step = toolCalls(outcome)[0] ?? assert.fail(JSON.stringify(outcome))
  return {
    outcome,
    result: 'result' in step ? step.result : undefined,
    error: 'error' in step ? step.error : undefined,
  }
}

async function offeredTools(tools: Parameters<typeof runOf>[0]['tools'] & {}) {
  const outcome = await runtime.run(runOf({ model: 'local/tiny', tools }))
  assert.equal(outcome.status, 'completed', JSON.stringify(outcome))
  return { outcome, names: model.requests[0]?.body.tools?.map((tool) => tool.function.name) }
}

describe('an MCP server', () => {
  test("offers its tools to the model and executes the model's calls", async () => {
    model.reply({ calls: [{ name: 'search', arguments: { query: 'cats' } }] }, { text: ['Here.'] })
    const outcome = await runtime.run(runOf({ model: 'local/tiny', tools: [mcp(first, { allow: ['search'] })] }))
    assert.equal(outcome.status === 'completed' && outcome.response, 'Here.')
    assert.deepEqual(model.requests[0]?.body.tools, [
      {
        type: 'function',
        function: {
          name: 'search',
          description: 'Finds notes',
          parameters: { type: 'object', properties: { query: { type: 'string' } }, required: ['query'] },
        },
      },
    ])
    assert.equal(model.requests[1]?.body.messages.at(-1)?.content, 'found cats')
  })

  test('without a user, the session is ended after the run, and all requests are closed', async () => {
    await callOnce('search', { query: 'x' })
    assert.equal(first.seen.at(-1)?.method, 'DELETE')
    await until('what the test waits for', () => first.open() === 0)
  })

  test('names outside the common alphabet are rewritten', async () => {
    const { result } = await callOnce('notes_delete', {})
    assert.equal(result, 'deleted')
  })

  test('only allowed tools are offered or can be called', async () => {
    const tools = [mcp(first, { allow: ['whoami', 'unknown'] })]
    assert.deepEqual((await offeredTools(tools)).names, ['whoami'])
    assert.equal((await callOnce('fail', {}, tools)).error, 'There is no tool fail')
  })

  test("tools with the same name get the server's position as a prefix", async () => {
    const both = [mcp(first, { allow: ['search', 'whoami'] }), mcp(second)]
    assert.deepEqual((await offeredTools(both)).names, ['mcp1_search', 'whoami', 'mcp2_search'])
    assert.equal((await callOnce('mcp2_search', {}, both)).result, 'found elsewhere')

    model.reset()
    const http = HttpTool.parse({ type: 'http', name: 'search', url: 'https://example.com/' })
    assert.deepEqual((await offeredTools([http, mcp(second)])).names, ['search', 'mcp1_search'])
  })

  test('arguments are checked before they are sent', async () => {
    assert.equal((await callOnce('search', {})).error, 'Invalid arguments: arguments: must have the property "query"')
    assert.equal(
      first.seen.some(({ method }) => method === 'tools/call'),
      false,
    )
  })

  test('a tool whose schema is too large is left out, with a log entry', async () => {
    const inputSchema = {
      type: 'object',
      properties: { a: { enum: Array.from({ length: 5_000 }, (_, index) => index) } },
    }
    const third = await startMcpServer([{ name: 'bomb', inputSchema }, { name: 'fine' }])
    try {
      const { outcome, names } = await offeredTools([mcp(third)])
      assert.deepEqual(names, ['fine'])
      assert.deepEqual(
        outcome.logs.map(({ level, message }) => [level, message]),
        [['warn', 'Tool bomb left out: its inputSchema can contain at most 5000 values, including nested ones']],
      )
    } finally {
      await third.close()
    }
  })

  test('an error result is an error', async () => {
    assert.equal((await callOnce('fail', {})).error, 'no such note')
  })

  test('a result over 256 KiB, or a response over 1 MiB, is an error', async () => {
    assert.equal((await callOnce('huge', {})).error, 'The result is larger than 256 KiB')
    assert.equal((await callOnce('flood', {})).error, 'A response is larger than 1024 KiB')
  })

  test('a server whose response has too many fields, or is nested too deeply, is left out', async () => {
    const wide = Object.fromEntries(Array.from({ length: 20_000 }, (_, index) => [`k\\${index}`, {}]))
    const deep = JSON.parse(`${'['.repeat(200)}${']'.repeat(200)}`)
    for (const [enumeration, problem] of [
      [{ properties: wide }, 'A response has more than 20000 fields'],
      [{ enum: deep }, 'A response is nested deeper than 128 levels'],
    ] as const) {
      const third = await startMcpServer([{ name: 'bomb', inputSchema: { type: 'object', ...enumeration } }])
      const { outcome, names } = await offeredTools([mcp(third)])
      assert.equal(names, undefined)
      assert.equal(outcome.logs[0]?.metadata.error, problem)
      model.reset()
      await third.close()
    }
  })

  test('a call that takes longer than timeout_ms is an error', async () => {
    // The limit holds for what comes before the call, too.
    await inOneAttempt(async () => {
      const { error } = await callOnce('hang', {}, [mcp(first, { timeout_ms: 200 })])
      assert.equal(error, `The MCP server ${first.host} did not answer in time`)
    })
  })

  test('cancelling during a call ends the run and its connections', async () => {
    const cancellation = new Cancellation()
    const script = Script.parse({ rules: [{ call: { tool: 'hang' } }] })
    const running = runtime.run(runOf({ model: 'builtin/script', script, tools: [mcp(first)] }, { cancellation }))
    await until('what the test waits for', () => first.seen.some(({ method }) => method === 'tools/call'))
    cancellation.cancel()
    assert.equal((await running).status, 'cancelled')
    await until('what the test waits for', () => first.open() === 0)
  })

  test('a server that is down causes a warning, and the agent answers without its tools', async () => {
    const gone = await startLocalServer(() => {})
    await gone.close()
    const { outcome, names } = await offeredTools([mcp(gone), mcp(second)])
    assert.deepEqual(names, ['search'])
    assert.equal(outcome.logs.length, 1)
    assert.equal(outcome.logs[0]?.level, 'warn')
    assert.equal(outcome.logs[0]?.message, 'MCP server skipped')
    assert.equal(outcome.logs[0]?.metadata.url, gone.url)
  })

  test('a server that never answers does not extend the deadline', async () => {
    const silent = await startLocalServer(() => {})
    const limits = limitsOf({ timeout_ms: 100 })
    const outcome = await runtime.run(runOf({ tools: [mcp(silent)], limits }))
    assert.equal(outcome.status === 'failed' && outcome.reason, 'timeout')
    await silent.close()
  })
})

describe('secrets for an MCP server', () => {
  const headers = { 'x-token': '{{secret.TOKEN}}' }

  test('are sent with every request and redacted from results', async () => {
    const { result, outcome } = await callOnce('whoami', {}, [mcp(first, { headers })])
    assert.equal(result, 'you sent [secret TOKEN]')
    assert.ok(first.seen.every((request) => request.headers['x-token'] === SECRET))
    assert.equal(JSON.stringify(outcome).includes(SECRET), false)
  })

  test('never leave for another host: the server is left out', async () => {
    const { outcome, names } = await offeredTools([mcp(second, { headers })])
    assert.equal(names, undefined)
    assert.equal(
      outcome.logs[0]?.metadata.error,
      `The secret TOKEN can't be sent to ${second.host}; add the host to the secret's hosts`,
    )
    assert.deepEqual(second.seen, [])
  })
})
