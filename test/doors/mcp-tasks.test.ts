import assert from 'node:assert/strict'
import { before, type TestContext, test } from 'node:test'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { CallToolResultSchema } from '@modelcontextprotocol/sdk/types.js'
import { connectMcp } from '../support/clients/mcp-client.ts'
import { LOCAL_TOOLS } from '../support/outside/local-server.ts'
import { startModelServer } from '../support/outside/model-server.ts'
import { until } from '../support/running/until.ts'
import { onAnyEngine, type Service } from '../support/service/service.ts'
import { createAgent, createKey } from '../support/slices/resources.ts'

const RULES = [
  { match: { equals: 'wait' }, reply: 'too late', delay_ms: 60_000 },
  { match: { equals: 'slowly' }, reply: 'one two three', delay_ms: 300 },
  { match: { equals: 'fail' }, fail: 'The engine is cold' },
  { match: { equals: 'ask' }, call: { tool: 'ask_person', arguments: { question: 'Why?' } }, reply: '{{result}}' },
  { reply: 'aye' },
]

/** The official client that has tasks: version 1 of the SDK, which speaks 2025-11-25. Version 2 knows their words only. */
async function connect(t: TestContext, service: Service, path: string, key = service.admin) {
  const client = new Client({ name: 'test', version: '1' }, { capabilities: { tasks: { list: {}, cancel: {} } } })
  const transport = new StreamableHTTPClientTransport(new URL(service.url + path), {
    requestInit: { headers: { Authorization: `Bearer ${key}` } },
  })
  t.after(() => client.close())
  // Its types are not written for exactOptionalPropertyTypes.
  await client.connect(transport as Parameters<typeof client.connect>[0])
  await client.listTools()
  return client
}

type TaskOutcome = { kinds: string[]; taskId: string; statuses: string[]; text: string | undefined }

/** Calls the tool as a task and follows it to its end. */
async function callAsTask(client: Client, name: string, message: string): Promise<TaskOutcome> {
  const told: TaskOutcome = { kinds: [], taskId: '', statuses: [], text: undefined }
  const called = { name, arguments: { message } }
  const stream = client.experimental.tasks.callToolStream(called, CallToolResultSchema, { task: { ttl: 60_000 } })
  for await (const event of stream) {
    told.kinds.push(event.type)
    if (event.type === 'taskCreated') told.taskId = event.task.taskId
    if (event.type === 'taskStatus') told.statuses.push(event.task.status)
    if (event.type === 'result') told.text = (event.result.content[0] as { text: string }).text
    if (event.type === 'error') told.text = event.error.message
  }
  return told
}

/** A tier that is used up soon and refilled slowly. */
const SMALL_TIER = { MOORAGE_LIMITS__TIERS: '{"small":{"requestsPerMinute":20,"burst":20}}' }

onAnyEngine(
  'long runs as tasks of MCP',
  (service) => {
    before(async () => {
      const tools = [{ type: 'ask_person' }]
      await createAgent(service(), 'pilot', { model: 'builtin/script', script: { rules: RULES }, tools })
    })

    for (const path of ['/v1/mcp', '/v1/agents/pilot/mcp']) {
      test(`${path}: a tool is called as a task, and its result is read when it has ended`, async (t) => {
        const client = await connect(t, service(), path)
        assert.deepEqual(client.getServerCapabilities()?.tasks?.requests, { tools: { call: {} } })
        const told = await callAsTask(client, 'pilot', 'slowly')
        assert.deepEqual([told.kinds.at(0), told.kinds.at(-1)], ['taskCreated', 'result'])
        assert.equal(told.text, 'one two three')
        const task = await client.experimental.tasks.getTask(told.taskId)
        assert.deepEqual([task.status, task.ttl], ['completed', null])
        const again = await client.experimental.tasks.getTaskResult(told.taskId, CallToolResultSchema)
        assert.deepEqual(again.content, [{ type: 'text', text: 'one two three' }])
        const [, request_id] = told.taskId.split('.')
        const { body } = await service().call('GET', `/v1/agents/pilot/invocations/${request_id}`)
        assert.deepEqual([body.data.door, body.data.background], ['mcp', true])
      })
    }

    test('a task that fails says why; one that waits for a person says so, and is cancelled', async (t) => {
      const client = await connect(t, service(), '/v1/mcp')
      const { taskId: failed } = await callAsTask(client, 'pilot', 'fail')
      const task = await client.experimental.tasks.getTask(failed)
      assert.equal(task.status, 'failed')
      assert.match(task.statusMessage ?? '', /The engine is cold/)
      const result = await client.experimental.tasks.getTaskResult(failed, CallToolResultSchema)
      assert.equal(result.isError, true)

      const called = { name: 'pilot', arguments: { message: 'ask' } }
      const stream = client.experimental.tasks.callToolStream(called, CallToolResultSchema, { task: {} })
      const { value: created } = await stream.next()
      assert.ok(created?.type === 'taskCreated')
      const { taskId } = created.task
      const status = async () => (await client.experimental.tasks.getTask(taskId)).status
      await until('it waits', async () => (await status()) === 'input_required')
      assert.equal((await client.experimental.tasks.cancelTask(taskId)).status, 'cancelled')
      await assert.rejects(client.experimental.tasks.cancelTask(failed), /has already failed/)
      await stream.return()
    })

    test('a task that waits for its provider works on: no person has to do anything', async (t) => {
      const model = await startModelServer()
      t.after(model.close)
      const provider = await service().call('PUT', '/v1/providers/busy', { body: { base_url: model.url } })
      assert.equal(provider.status, 200, provider.text)
      await createAgent(service(), 'patient', { model: 'busy/tiny' })
      model.reply({ status: 429, headers: { 'retry-after': '3600' } })
      const client = await connect(t, service(), '/v1/agents/patient/mcp')
      const called = { name: 'patient', arguments: { message: 'ahoy' } }
      const stream = client.experimental.tasks.callToolStream(called, CallToolResultSchema, { task: {} })
      const { value: created } = await stream.next()
      assert.ok(created?.type === 'taskCreated')
      const { taskId } = created.task
      const path = `/v1/agents/patient/invocations/${taskId.split('.')[1]}`
      await until('it waits', async () => (await service().call('GET', path)).body.data.status === 'waiting')
      const { tasks } = await client.experimental.tasks.listTasks()
      for (const task of [await client.experimental.tasks.getTask(taskId), ...tasks]) {
        assert.deepEqual([task.taskId, task.status, task.statusMessage], [taskId, 'working', undefined])
      }
      assert.equal((await client.experimental.tasks.cancelTask(taskId)).status, 'cancelled')
      await stream.return()
    })

    test('the tasks of an agent are listed; each caller sees its own, and no other', async (t) => {
      const [one, other] = await Promise.all([1, 2].map(() => createKey(service(), { role: 'caller' })))
      const mine = await connect(t, service(), '/v1/agents/pilot/mcp', one?.secret)
      const theirs = await connect(t, service(), '/v1/agents/pilot/mcp', other?.secret)
      const { taskId } = await callAsTask(mine, 'pilot', 'ahoy')
      const { tasks } = await mine.experimental.tasks.listTasks()
      assert.deepEqual(
        tasks.map((task) => task.taskId),
        [taskId],
      )
      assert.deepEqual((await theirs.experimental.tasks.listTasks()).tasks, [])
      for (const id of [taskId, 'agt_1.req_1', 'nothing']) {
        await assert.rejects(theirs.experimental.tasks.getTask(id), { code: -32_602 })
        await assert.rejects(theirs.experimental.tasks.getTaskResult(id, CallToolResultSchema), { code: -32_602 })
      }
    })

    test('a task belongs to its agent: through the path of another it is not there', async (t) => {
      await createAgent(service(), 'tug')
      const mine = await connect(t, service(), '/v1/agents/pilot/mcp')
      const { taskId: ended } = await callAsTask(mine, 'pilot', 'ahoy')
      const called = { name: 'pilot', arguments: { message: 'wait' } }
      const stream = mine.experimental.tasks.callToolStream(called, CallToolResultSchema, { task: {} })
      const { value: created } = await stream.next()
      assert.ok(created?.type === 'taskCreated')
      const { taskId: running } = created.task
      const { tasks } = (await connect(t, service(), '/v1/agents/tug/mcp')).experimental
      for (const id of [ended, running]) {
        await assert.rejects(tasks.getTask(id), { code: -32_602 })
        await assert.rejects(tasks.cancelTask(id), { code: -32_602 })
      }
      await assert.rejects(tasks.getTaskResult(ended, CallToolResultSchema), { code: -32_602 })
      assert.equal((await mine.experimental.tasks.cancelTask(running)).status, 'cancelled')
      await stream.return()
    })

    test('a task that has begun is reported, even if its caller may request nothing more now', async (t) => {
      const { secret } = await createKey(service(), { role: 'caller', tier: 'small' })
      for (const path of ['/v1/mcp', '/v1/agents/pilot/mcp']) {
        const client = await connect(t, service(), path, secret)
        const left = async () => {
          const { headers } = await service().call('GET', '/v1/keys/self', { key: secret })
          return Number(headers.get('x-ratelimit-remaining'))
        }
        while ((await left()) > 1) {}
        const called = { name: 'pilot', arguments: { message: 'ahoy' } }
        const stream = client.experimental.tasks.callToolStream(called, CallToolResultSchema, { task: {} })
        const { value: created } = await stream.next()
        assert.equal(created?.type, 'taskCreated', JSON.stringify(created))
        await stream.return()
        service().advance(120_000)
      }
    })

    test('revision 2026-07-28 has no tasks, and clients that use it are offered none', async (t) => {
      const client = await connectMcp(t, service(), '2026-07-28')
      assert.equal(client.getServerCapabilities()?.tasks, undefined)
      const { tools } = await client.listTools()
      assert.ok(tools.every((tool) => !('execution' in tool)))
    })
  },
  { ...SMALL_TIER, ...LOCAL_TOOLS },
)
