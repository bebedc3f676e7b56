import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { describe, type TestContext, test } from 'node:test'
import { createMcpHandler, McpServer as OfficialServer } from '@modelcontextprotocol/server'
import { z } from 'zod'
import { McpTool, Script } from '../../src/runtime/spec.ts'
import { LOCAL_TOOLS, startLocalServer } from '../support/outside/local-server.ts'
import { type McpServer, startMcpServer } from '../support/outside/mcp-server.ts'
import { until } from '../support/running/until.ts'
import { newAgent } from '../support/service/agents.ts'
import { localRuntime, runOf, toolCalls } from '../support/service/run-agent.ts'
import { startWithModel } from '../support/service/with-model.ts'

const TOOLS = [
  { name: 'add', call: ({ a, b }: Record<string, unknown>) => String(Number(a) + Number(b)) },
  { name: 'whoami', call: (_args: unknown, headers: Record<string, unknown>) => String(headers['mcp-session-id']) },
  { name: 'broken', status: 500 },
  { name: 'open', call: () => 'an answer', staysOpen: true },
]

async function setUp(t: TestContext, options?: { hasSessions: boolean }) {
  const server = await startMcpServer(TOOLS, options)
  t.after(server.close)
  let ahead = 0
  const secret = { value: 'first', hosts: ['127.0.0.1'] }
  const runtime = localRuntime({ now: () => Date.now() + ahead, secrets: async () => ({ TOKEN: secret }) })
  t.after(() => runtime.close())
  const headers = { 'x-token': '{{secret.TOKEN}}' }

  /** A run that calls one tool, or none; its result. */
  const run = async (tool: string | undefined, user_id?: string, agent_id = 'agt_1') => {
    const rule = tool === undefined ? { reply: 'nothing to do' } : { call: { tool, arguments: { a: 1, b: 2 } } }
    const agent = {
      model: 'builtin/script',
      script: Script.parse({ rules: [rule] }),
      tools: [McpTool.parse({ type: 'mcp', url: server.url, headers })],
    }
    const outcome = await runtime.run(runOf(agent, { agent_id, context: { user_id } }))
    assert.equal(outcome.status, 'completed', JSON.stringify(outcome.logs))
    return toolCalls(outcome)[0]
  }
  return { server, runtime, run, secret, pass: (ms: number) => (ahead += ms) }
}

/** What the server was asked since the last time, without the notification that ends a handshake. */
function asked(server: McpServer): string[] {
  return server.seen.splice(0).flatMap(({ method }) => (method === 'notifications/initialized' ? [] : method))
}

const resultOf = (step: object | undefined) => (step && 'result' in step ? step.result : step)

describe('kept between runs of an agent', () => {
  test('the session and the tools, for the same user; the session ends with the runtime', async (t) => {
    const { server, runtime, run } = await setUp(t)
    assert.equal(resultOf(await run('add', 'ann')), '3')
    assert.deepEqual(asked(server), ['server/discover', 'initialize', 'tools/list', 'tools/call'])
    assert.equal(resultOf(await run('add', 'ann')), '3')
    assert.deepEqual(asked(server), ['tools/call'])
    await runtime.close()
    assert.deepEqual(asked(server), ['DELETE'])
  })

  test('no stream of an answer, even if the server does not close it', async (t) => {
    const { server, run } = await setUp(t)
    assert.equal(resultOf(await run('open', 'ann')), 'an answer')
    assert.equal(resultOf(await run('open', 'ann')), 'an answer')
    await until('all answers are closed', () => server.open() === 0)
    assert.equal(asked(server).filter((method) => method === 'initialize').length, 1)
  })

  test('sessions, separately for each user and each agent', async (t) => {
    const { run } = await setUp(t)
    const sessions = [
      resultOf(await run('whoami', 'ann')),
      resultOf(await run('whoami', 'bob')),
      resultOf(await run('whoami', 'ann')),
      resultOf(await run('whoami', 'ann', 'agt_2')),
    ]
    assert.deepEqual(sessions, ['session-1', 'session-2', 'session-1', 'session-3'])
  })

  test('a separate session for each simultaneous run', async (t) => {
    const { run } = await setUp(t)
    const sessions = await Promise.all([1, 2, 3].map(async () => resultOf(await run('whoami', 'ann'))))
    assert.equal(new Set(sessions).size, 3)
  })

  test('without a user, the tools, but a session only for one run', async (t) => {
    const { server, run } = await setUp(t)
    await run(undefined)
    assert.deepEqual(asked(server), ['server/discover', 'initialize', 'tools/list', 'DELETE'])
    await run(undefined)
    assert.deepEqual(asked(server), [])
    assert.equal(resultOf(await run('add')), '3')
    assert.deepEqual(asked(server), ['initialize', 'tools/call', 'DELETE'])
  })

  test('without server sessions, the connection, for all users of the agent', async (t) => {
    const { server, run } = await setUp(t, { hasSessions: false })
    await run('add')
    assert.deepEqual(asked(server), ['server/discover', 'initialize', 'tools/list', 'tools/call'])
    await run('add')
    assert.deepEqual(asked(server), ['tools/call'])
  })

  test('the list of tools, for a minute', async (t) => {
    const { server, run, pass } = await setUp(t)
    await run('add', 'ann')
    asked(server)
    pass(45_000)
    await run('add', 'ann')
    assert.deepEqual(asked(server), ['tools/call'])
    pass(15_001)
    await run('add', 'ann')
    assert.deepEqual(asked(server), ['tools/list', 'tools/call'])
  })

  test('connections, separately for each value of a secret', async (t) => {
    const { server, run, secret } = await setUp(t)
    await run('add', 'ann')
    asked(server)
    secret.value = 'second'
    await run('add', 'ann')
    assert.deepEqual(asked(server), ['server/discover', 'initialize', 'tools/list', 'tools/call'])
  })
})

describe('not kept between runs', () => {
  test('a session that the server has ended: the call is repeated in a new one', async (t) => {
    const { server, run } = await setUp(t)
    await run('add', 'ann')
    server.forget()
    asked(server)
    assert.equal(resultOf(await run('add', 'ann')), '3')
    assert.deepEqual(asked(server), ['tools/call', 'DELETE', 'initialize', 'tools/call'])
  })

  test('a session that the server has ended during several simultaneous calls', async (t) => {
    const server = await startMcpServer(TOOLS)
    const { service, model, stop } = await startWithModel('sqlite', LOCAL_TOOLS)
    t.after(async () => {
      await stop()
      await server.close()
    })
    const agent = await newAgent(service, { model: 'local/test-model', tools: [{ type: 'mcp', url: server.url }] })
    const addAll = async (numbers: number[]) => {
      model.reply({ calls: numbers.map((a) => ({ name: 'add', arguments: { a, b: 1 } })) }, { text: ['done'] })
      const body = { message: 'Add', context: { user_id: 'ann' } }
      const { body: reply } = await service.call('POST', `/v1/agents/${agent}/invoke`, { body })
      const path = `/v1/agents/${agent}/invocations/${reply.data.request_id}`
      const { steps } = (await service.call('GET', path)).body.data
      return steps.flatMap((step: { kind: string; result?: string; error?: string }) =>
        step.kind === 'tool' ? (step.result ?? step.error) : [],
      )
    }
    assert.deepEqual(await addAll([1]), ['2'])
    server.forget()
    assert.deepEqual((await addAll([1, 2, 3])).toSorted(), ['2', '3', '4'])
  })

  test('a session that the server has ended when its tools are listed', async (t) => {
    const { server, run, pass } = await setUp(t)
    await run('add', 'ann')
    server.forget()
    asked(server)
    pass(61_000)
    assert.equal(resultOf(await run('add', 'ann')), '3')
    assert.deepEqual(asked(server).slice(0, 1), ['tools/list'])
  })

  test('a connection after an error, and what was known about its server', async (t) => {
    const { server, run } = await setUp(t)
    assert.match(JSON.stringify(await run('broken', 'ann')), /answered HTTP 500/)
    assert.equal(asked(server).at(-1), 'DELETE')
    await run('add', 'ann')
    assert.deepEqual(asked(server), ['server/discover', 'initialize', 'tools/list', 'tools/call'])
  })
})

describe('revision 2026-07-28', () => {
  test('is spoken with a server that knows it: no handshake, no session, one request for a call', async (t) => {
    const handler = createMcpHandler(() => {
      const server = new OfficialServer({ name: 'official', version: '1.0.0' })
      const inputSchema = z.object({ a: z.number(), b: z.number() })
      server.registerTool('add', { inputSchema, outputSchema: z.object({ sum: z.number() }) }, async ({ a, b }) => ({
        content: [],
        structuredContent: { sum: a + b },
      }))
      return server
    })
    const seen: string[] = []
    const local = await startLocalServer(async (request, response) => {
      const body = await new Response(Readable.toWeb(request) as ReadableStream).text()
      seen.push(JSON.parse(body).method)
      const headers = Object.entries(request.headers) as [string, string][]
      const answer = await handler.fetch(
        new Request(`${local.url}/mcp`, { method: request.method ?? '', headers, body }),
      )
      response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(await answer.text())
    })
    const runtime = localRuntime()
    t.after(async () => {
      await runtime.close()
      await handler.close()
      await local.close()
    })
    const agent = {
      model: 'builtin/script',
      script: Script.parse({ rules: [{ call: { tool: 'add', arguments: { a: 1, b: 2 } } }] }),
      tools: [McpTool.parse({ type: 'mcp', url: `${local.url}/mcp` })],
    }
    for (const expected of [['server/discover', 'tools/list', 'tools/call'], ['tools/call']]) {
      const outcome = await runtime.run(runOf(agent))
      assert.equal(resultOf(toolCalls(outcome)[0]), '{"sum":3}', JSON.stringify(outcome))
      assert.deepEqual(seen.splice(0), expected)
    }
  })
})
