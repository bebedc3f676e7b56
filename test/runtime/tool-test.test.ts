import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { LOCAL_TOOLS, type LocalServer, NOWHERE, readBody, startLocalServer } from '../support/outside/local-server.ts'
import { type McpServer, startMcpServer } from '../support/outside/mcp-server.ts'
import { onAnyEngine, type Service, withService } from '../support/service/service.ts'
import { createAgent, createKey } from '../support/slices/resources.ts'

const VALUE = 'kept-to-ourselves-77aa'

let api: LocalServer
let mcp: McpServer
let calls: { line: string; key: string | undefined; body: string }[] = []
before(async () => {
  api = await startLocalServer(async (request, response) => {
    const { authorization, 'idempotency-key': key } = request.headers
    calls.push({ line: `${request.method} ${request.url}`, key: String(key), body: await readBody(request) })
    if (request.url?.startsWith('/broken')) return void response.writeHead(500).end('out of order')
    response.end(`you sent ${authorization}`)
  })
  mcp = await startMcpServer([
    {
      name: 'add',
      description: 'Adds',
      inputSchema: { type: 'object', properties: { a: { type: 'number' } }, required: ['a'] },
      call: ({ a }) => `${Number(a) + 1}`,
    },
    { name: 'idle', call: () => 'nothing' },
  ])
})
after(async () => {
  await api.close()
  await mcp.close()
})

const weather = (more: object = {}) => ({
  type: 'http',
  name: 'weather',
  description: 'The weather of a city',
  input_schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  url: `${api.url}/weather/{city}`,
  headers: { Authorization: 'Bearer {{secret.WEATHER}}' },
  ...more,
})

async function testTool(service: Service, body: object, more: { agent?: string; key?: string } = {}) {
  calls = []
  const { agent = 'hello', key = service.admin } = more
  return service.call('POST', `/v1/agents/${agent}/tools/test`, { body, key })
}
/** The reply without its duration. */
async function tried(service: Service, body: object) {
  const reply = await testTool(service, body)
  assert.equal(reply.status, 200, reply.text)
  const { duration_ms, ...rest } = reply.body.data
  assert.equal(typeof duration_ms, 'number')
  return rest
}

onAnyEngine(
  'POST /v1/agents/{agent_id}/tools/test',
  (service) => {
    before(async () => {
      const body = { value: VALUE, hosts: [api.host] }
      await service().call('PUT', '/v1/secrets/WEATHER', { body })
    })

    test('calls an HTTP tool as a run would, with its secret, which stays hidden', async () => {
      const { name, description, input_schema } = weather()
      const offered = { name, description, input_schema }
      assert.deepEqual(await tried(service(), { tool: weather(), call: { arguments: { city: 'Oslo' } } }), {
        tools: [offered],
        result: 'you sent Bearer [secret WEATHER]',
        error: null,
      })
      assert.equal(calls[0]?.line, 'GET /weather/Oslo')
      assert.match(calls[0]?.key ?? '', /^req_/)
      assert.ok(!service().log().includes(VALUE))

      const posted = weather({ method: 'POST', url: `${api.url}/orders` })
      await tried(service(), { tool: posted, call: { arguments: { city: 'Oslo' } } })
      assert.deepEqual([calls[0]?.line, calls[0]?.body], ['POST /orders', '{"city":"Oslo"}'])
    })

    test('a tool without parameters is called without arguments', async () => {
      const bare = weather({ input_schema: { type: 'object', properties: {} }, url: `${api.url}/now`, headers: {} })
      assert.equal((await tried(service(), { tool: bare, call: {} })).error, null)
      assert.equal(calls[0]?.line, 'GET /now')
      const idle = await tried(service(), { tool: { type: 'mcp', url: mcp.url }, call: { name: 'idle' } })
      assert.deepEqual([idle.result, idle.error], ['nothing', null])
    })

    test('without a call, it returns what the model would be offered, and calls nothing', async () => {
      const { tools, result, error } = await tried(service(), { tool: weather() })
      assert.deepEqual([tools.length, result, error, calls], [1, null, null, []])
      const asked = await tried(service(), { tool: { type: 'ask_person' } })
      assert.equal(asked.tools[0].name, 'ask_person')
    })

    test('reports what went wrong: arguments, URL, secret, response', async () => {
      const errorOf = async (tool: object, args: object = { city: 'Oslo' }) =>
        (await tried(service(), { tool, call: { arguments: args } })).error
      assert.match(await errorOf(weather(), {}), /^Invalid arguments: .*city/)
      assert.deepEqual(calls, [])
      assert.equal(await errorOf(weather({ url: `${api.url}/broken/{city}` })), 'HTTP 500: out of order')
      assert.match(await errorOf(weather({ url: 'http://10.1.2.3/{city}', headers: {} })), /outgoing\.allowedCidrs/)
      const elsewhere = weather({ url: 'https://elsewhere.example.com/{city}' })
      assert.equal(
        await errorOf(elsewhere),
        "The secret WEATHER can't be sent to elsewhere.example.com; add the host to the secret's hosts",
      )
      assert.match(await errorOf(weather({ headers: { X: '{{secret.NOT_THERE}}' } })), /NOT_THERE is not configured/)
    })

    test("lists an MCP server's tools again, and calls the named one", async () => {
      const tool = { type: 'mcp', url: mcp.url }
      const listed = await tried(service(), { tool })
      assert.deepEqual(
        listed.tools.map(({ name }: { name: string }) => name),
        ['add', 'idle'],
      )
      const add = (args: object, name = 'add') => tried(service(), { tool, call: { name, arguments: args } })
      assert.equal((await add({ a: 1 })).result, '2')
      assert.match((await add({ a: 'one' })).error, /^Invalid arguments/)
      assert.equal((await add({}, 'subtract')).error, 'There is no tool subtract')
      const unnamed = await tried(service(), { tool, call: { arguments: {} } })
      assert.equal(unnamed.error, "Specify which of the server's tools to call")
      const dead = await tried(service(), { tool: { type: 'mcp', url: `${NOWHERE}/mcp` } })
      assert.deepEqual(dead, { tools: [], result: null, error: 'The request to 127.0.0.1:2 failed (ECONNREFUSED)' })
    })

    test("400 at the field of an invalid tool; ask_person can't be called", async () => {
      const fieldOf = async (body: object) => {
        const reply = await testTool(service(), body)
        assert.equal(reply.status, 400, reply.text)
        return reply.body.error.details[0].field
      }
      const large = { type: 'object', title: 'x'.repeat(300_000) }
      assert.equal(await fieldOf({ tool: weather({ name: '9' }) }), 'tool.name')
      assert.equal(await fieldOf({ tool: weather({ input_schema: large }) }), 'tool.input_schema')
      assert.equal(await fieldOf({ tool: { type: 'ask_person' }, call: { arguments: {} } }), 'call')
    })

    test('requires write on the agent; the audit log has the test without arguments', async () => {
      const agent_id = await createAgent(service(), 'narrow')
      const scoped = (await createKey(service(), { role: 'developer', agent_id })).secret
      const viewer = (await createKey(service(), { role: 'viewer' })).secret
      const body = { tool: weather(), call: { arguments: { city: 'Oslo' } } }
      assert.equal((await testTool(service(), body, { key: viewer })).status, 403)
      assert.equal((await testTool(service(), body, { key: scoped })).status, 403)
      assert.equal((await testTool(service(), body, { key: scoped, agent: 'narrow' })).status, 200)
      const { body: log } = await service().call('GET', '/v1/audit-log?action=testTool&outcome=success&limit=1')
      assert.equal(log.data[0].agent_id, agent_id)
      assert.deepEqual(log.data[0].fields, ['tool', 'call'])
    })
  },
  LOCAL_TOOLS,
)

test('under the rules of outgoing: this machine is refused, and the setting named', () =>
  withService('sqlite', async (service) => {
    const tool = weather({ headers: {} })
    const { body } = await testTool(service, { tool, call: { arguments: { city: 'Oslo' } } })
    assert.match(body.data.error, /refused \(invalid_url\).*outgoing\.allowInsecure and outgoing\.allowedCidrs/)
    assert.deepEqual(calls, [])
  }))
