import assert from 'node:assert/strict'
import { after, afterEach, before, describe, test } from 'node:test'
import { allEvents } from '../support/clients/sse.ts'
import { liveRuns, partsOf, storeOf } from '../support/inside.ts'
import { LOCAL_TOOLS, type LocalServer, startLocalServer } from '../support/outside/local-server.ts'
import { type McpServer, startMcpServer } from '../support/outside/mcp-server.ts'
import { until } from '../support/running/until.ts'
import { newAgent } from '../support/service/agents.ts'
import { betweenNodes, NODE_STORY_ENGINES, type Service } from '../support/service/service.ts'
import { startWithModel } from '../support/service/with-model.ts'
import { newRemoteAgent, type RemoteServer, setRemoteSecret, startRemote } from '../support/slices/remote-agents.ts'
import { holdStore } from '../support/stores/held-store.ts'
import { refuse } from '../support/stores/unwilling-store.ts'

for (const engine of NODE_STORY_ENGINES) {
  describe(`a run that is not stored yet, on ${engine}`, () => {
    let service: Service
    let model: Awaited<ReturnType<typeof startWithModel>>['model']
    let stop: () => Promise<void>
    let tool: LocalServer
    let mcp: McpServer
    let remote: RemoteServer
    let toolCalls = 0
    before(async () => {
      ;({ service, model, stop } = await startWithModel(engine, LOCAL_TOOLS))
      tool = await startLocalServer((_request, response) => {
        toolCalls += 1
        response.end('42')
      })
      mcp = await startMcpServer([{ name: 'look', call: () => 'nothing' }])
      remote = await startRemote()
      await setRemoteSecret(service)
    })
    after(async () => {
      await stop()
      await Promise.all([tool.close(), mcp.close(), remote.close()])
    })
    afterEach(() => {
      model.reset()
      toolCalls = 0
    })

    const clerk = (fields: object = {}) =>
      newAgent(service, { model: 'local/tiny', tools: [{ type: 'http', name: 'act', url: tool.url }], ...fields })

    /** Sends the request, and says whether any of its answer has come. */
    function invoke(agent: string, headers: Record<string, string> = {}) {
      const sent = { hasAnswered: false, reply: undefined as unknown as Promise<Response> }
      sent.reply = fetch(`${service.url}/v1/agents/${agent}/invoke`, {
        method: 'POST',
        headers: { Authorization: `Bearer ${service.admin}`, 'Content-Type': 'application/json', ...headers },
        body: JSON.stringify({ message: 'go' }),
      }).then((reply) => {
        sent.hasAnswered = true
        return reply
      })
      return sent
    }

    const list = async (agent: string) => (await service.call('GET', `/v1/agents/${agent}/invocations`)).body.data

    /** Requests are served in turn, so everything that could happen immediately has happened by then. */
    async function takeTurns() {
      for (let i = 0; i < 10; i++) await service.call('GET', '/v1/agents')
    }

    test('calls its model immediately, and does nothing else until it is stored', async (t) => {
      const agent = await clerk()
      model.reply({ text: ['Let ', 'me see.'], calls: [{ name: 'act', arguments: {} }] }, { text: ['It is 42.'] })
      const letGo = await holdStore(t, service)
      const asked = model.nextRequest()
      const streamed = invoke(agent, { Accept: 'text/event-stream' })
      await asked
      await takeTurns()
      assert.equal(streamed.hasAnswered, false)
      assert.equal(toolCalls, 0)
      assert.deepEqual(partsOf(service).live.agents(), [agent])
      assert.equal(liveRuns(service, agent)[0]?.began, undefined, 'nobody can follow it')
      assert.deepEqual(await list(agent), [])
      await letGo()
      const events = await allEvents(await streamed.reply)
      assert.deepEqual(
        events.map(({ event }) => event),
        ['start', 'delta', 'tool_call', 'tool_result', 'delta', 'done'],
      )
      assert.equal(toolCalls, 1)
      assert.equal(model.requests.length, 2)
      const [receipt] = await list(agent)
      assert.equal(receipt.status, 'completed')
    })

    // On SQLite, an Idempotency-Key's claim would wait for the same transaction.
    const keys = { 'without a key': {}, ...(engine === 'postgres' && { 'with a key': { 'Idempotency-Key': 'once' } }) }
    for (const [name, headers] of Object.entries<Record<string, string>>(keys)) {
      test(`that can't be stored ends its model call and leaves only the cost, ${name}`, async (t) => {
        const agent = await clerk()
        const takeBack = await refuse(service, 'a new run')
        const letGo = await holdStore(t, service)
        const never = Promise.withResolvers<void>()
        model.holdNext(never.promise)
        const asked = model.nextRequest()
        const sent = invoke(agent, headers)
        const request = await until('the model is asked', () => model.requests[0])
        await letGo()
        const reply = await sent.reply
        assert.ok(reply.status >= 500, await reply.text())
        assert.deepEqual(await request.closed, { answered: false })
        never.resolve()
        await asked
        await takeBack()
        assert.deepEqual(await list(agent), [])
        assert.equal(toolCalls, 0)
        assert.equal(liveRuns(service).length, 0)
        const calls = await until('the call is in the ledger', async () => {
          const { body } = await service.call('GET', `/v1/usage?agent_id=${agent}&group_by=agent`)
          return body.data.rows?.[0] ?? body.data[0]
        })
        assert.equal(calls.calls, 1)
      })
    }

    test('is never a row of its own if it ends at once', async () => {
      const agent = await newAgent(service, { model: 'builtin/echo' })
      assert.equal((await invoke(agent).reply).status, 200, 'what runs need is in memory now')
      const takeBack = await refuse(service, 'a new run')
      const ways: Record<string, string>[] = [{}, { 'Idempotency-Key': 'at-once' }, { Accept: 'text/event-stream' }]
      const replies = await Promise.all(ways.map((headers) => invoke(agent, headers).reply))
      const texts = await Promise.all(replies.map((reply) => reply.text()))
      await takeBack()
      for (const [i, { status }] of replies.entries()) assert.equal(status, 200, texts[i] ?? '')
      assert.match(texts[2] ?? '', /event: start\n[^]*event: delta\n[^]*event: done\n/)
      const receipts: { status: string }[] = await list(agent)
      assert.deepEqual(
        receipts.map(({ status }) => status),
        Array(4).fill('completed'),
      )
    })

    test('streams the draft of its output, even if the model has answered by then', async (t) => {
      const schema = { type: 'object', properties: { sum: { type: 'integer' } }, required: ['sum'] }
      const agent = await clerk({ output: { schema }, tools: [] })
      const answer = { text: ['{"sum": ', '42}'] }
      model.reply(answer, answer)
      assert.equal((await invoke(agent).reply).status, 200, 'the schema is compiled now')
      const letGo = await holdStore(t, service)
      const streamed = invoke(agent, { Accept: 'text/event-stream' })
      const request = await until('the model is asked', () => model.requests[1])
      assert.deepEqual(await request.closed, { answered: true })
      await takeTurns()
      assert.equal(streamed.hasAnswered, false)
      await letGo()
      const events = await allEvents(await streamed.reply)
      assert.deepEqual(
        events.map(({ event }) => event),
        ['start', 'output.delta', 'delta', 'done'],
      )
    })

    // On SQLite, both would be written at once.
    betweenNodes(engine)("that has ended and can't be stored leaves only the cost", async (t) => {
      const agent = await clerk()
      const takeBack = await refuse(service, 'a new run')
      const letGo = await holdStore(t, service)
      model.reply({ text: ['Done.'] })
      const sent = invoke(agent)
      const request = await until('the model is asked', () => model.requests[0])
      assert.deepEqual(await request.closed, { answered: true })
      await takeTurns()
      assert.equal(sent.hasAnswered, false)
      await letGo()
      const reply = await sent.reply
      assert.ok(reply.status >= 500, await reply.text())
      await takeBack()
      assert.deepEqual(await list(agent), [])
      assert.equal(liveRuns(service).length, 0)
      await until('the call is in the ledger', async () => {
        const { body } = await service.call('GET', `/v1/usage?agent_id=${agent}&group_by=agent`)
        return (body.data.rows?.[0] ?? body.data[0])?.calls === 1
      })
    })

    test('waits until it is stored if a limit could refuse it', async (t) => {
      const agent = await clerk({ limits: { max_concurrency: 3 } })
      const letGo = await holdStore(t, service)
      const sent = invoke(agent)
      await takeTurns()
      assert.equal(model.requests.length, 0)
      await letGo()
      assert.equal((await sent.reply).status, 200)
    })

    // On SQLite the reservation of a budget would wait for the same transaction.
    betweenNodes(engine)('reserves from its budgets before it calls its model', async (t) => {
      const agent = await clerk()
      const body = {
        name: 'enough',
        scope: { type: 'agent', id: agent },
        limit: { tokens: 1_000_000 },
        per: 'month',
      }
      const budget = await service.call('POST', '/v1/budgets', { body })
      assert.equal(budget.status, 201, budget.text)
      const letGo = await holdStore(t, service)
      const asked = Promise.withResolvers<void>()
      model.holdNext(asked.promise)
      const sent = invoke(agent)
      await until('the model is asked', () => model.requests[0])
      const db = storeOf(service)
      const lines = await db.selectFrom('ledger').select('status').where('agent_id', '=', agent).execute()
      assert.deepEqual(lines, [{ status: 'reserved' }])
      asked.resolve()
      await letGo()
      assert.equal((await sent.reply).status, 200)
    })

    test('does not call remote agents or MCP servers', async (t) => {
      remote.answer(() => 'far away')
      const far = await newRemoteAgent(service, remote.url)
      const near = await clerk({ tools: [{ type: 'mcp', url: mcp.url }] })
      const letGo = await holdStore(t, service)
      const sent = [invoke(far), invoke(near)]
      await until('both have begun', () => liveRuns(service).length === 2)
      await takeTurns()
      assert.deepEqual([remote.calls(), mcp.seen.length, model.requests.length], [0, 0, 0])
      await letGo()
      for (const { reply } of sent) assert.equal((await reply).status, 200)
      assert.equal(remote.calls(), 1)
    })

    test('is cancelled if its client disconnects, and its receipt says so', async (t) => {
      const agent = await clerk()
      const letGo = await holdStore(t, service)
      const never = Promise.withResolvers<void>()
      model.holdNext(never.promise)
      const hangUp = new AbortController()
      const sent = fetch(`${service.url}/v1/agents/${agent}/invoke`, {
        method: 'POST',
        headers: { Authorization: `Bearer ${service.admin}`, 'Content-Type': 'application/json' },
        body: JSON.stringify({ message: 'go' }),
        signal: hangUp.signal,
      }).catch(() => {})
      const request = await until('the model is asked', () => model.requests[0])
      hangUp.abort()
      await sent
      assert.deepEqual(await request.closed, { answered: false })
      never.resolve()
      await letGo()
      const receipt = await until('the receipt', async () => (await list(agent))[0])
      await until('its end', async () => (await list(agent))[0].status === 'cancelled')
      assert.equal(receipt.agent_id, agent)
    })
  })
}
