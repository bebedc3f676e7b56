import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Runtime } from '../../src/runtime/runtime.ts'
import { McpTool, Script } from '../../src/runtime/spec.ts'
import { readBody, startLocalServer } from '../support/outside/local-server.ts'
import { localRuntime, runOf, toolCalls } from '../support/service/run-agent.ts'

const INITIALIZED = {
  protocolVersion: '2025-11-25',
  capabilities: { tools: {} },
  serverInfo: { name: 'test', version: '1.0.0' },
}
const TOOLS = { tools: [{ name: 'dig', inputSchema: { type: 'object' } }] }

describe('an MCP server', () => {
  let runtime: Runtime
  before(() => {
    runtime = localRuntime({ providers: [] })
  })
  after(() => runtime.close())

  async function dig(url: string) {
    const script = Script.parse({ rules: [{ call: { tool: 'dig', arguments: {} } }] })
    const tools = [McpTool.parse({ type: 'mcp', url })]
    return runtime.run(runOf({ model: 'builtin/script', script, tools }))
  }

  test('that closes a response stream is asked to continue after the last event, at the time it named', async (t) => {
    const resumed: { after: unknown; waited: number }[] = []
    let closed = 0
    let asked: unknown
    const server = await startLocalServer(async (request, response) => {
      const stream = () => response.writeHead(200, { 'content-type': 'text/event-stream' })
      if (request.method === 'GET') {
        resumed.push({ after: request.headers['last-event-id'], waited: performance.now() - closed })
        closed = performance.now()
        // The first time it closes again.
        if (resumed.length === 1) return void stream().end('id: two\nretry: 30\ndata: \n\n')
        const result = { content: [{ type: 'text', text: 'found a spring' }] }
        return void stream().end(`id: three\ndata: ${JSON.stringify({ jsonrpc: '2.0', id: asked, result })}\n\n`)
      }
      if (request.method === 'DELETE') return void response.writeHead(200).end()
      const { id, method } = JSON.parse(await readBody(request)) as { id?: unknown; method: string }
      if (id === undefined) return void response.writeHead(202).end()
      if (method === 'tools/call') {
        asked = id
        closed = performance.now()
        return void stream().end('id: one\nretry: 120\ndata: \n\n')
      }
      const results: Record<string, object> = { initialize: INITIALIZED, 'tools/list': TOOLS }
      const answer = results[method] ? { result: results[method] } : { error: { code: -32_601, message: 'Unknown' } }
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ jsonrpc: '2.0', id, ...answer }))
    })
    t.after(() => server.close())
    const [step] = toolCalls(await dig(`${server.url}/mcp`))
    assert.deepEqual(step && 'result' in step && step.result, 'found a spring', JSON.stringify(step))
    assert.deepEqual(
      resumed.map(({ after: last }) => last),
      ['one', 'two'],
    )
    // Timers may fire a moment early.
    assert.ok((resumed[0]?.waited ?? 0) >= 115, `waited ${resumed[0]?.waited} ms`)
  })

  test('that requires OAuth is left out, and the log says what to do', async (t) => {
    const server = await startLocalServer((_request, response) => {
      const challenge = 'Bearer resource_metadata="https://example.com/.well-known/oauth-protected-resource"'
      response.writeHead(401, { 'www-authenticate': challenge }).end()
    })
    t.after(() => server.close())
    const { logs } = await dig(`${server.url}/mcp`)
    const told = logs.map(({ message, metadata }) => `${message} ${JSON.stringify(metadata)}`).join('\n')
    assert.match(told, /answered HTTP 401: if it uses OAuth, create a connection/)
  })
})
