import assert from 'node:assert/strict'
import { after, before, describe, type TestContext, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { databaseUrl } from '../support/inside.ts'
import { LOCAL_TOOLS, NOWHERE, startLocalServer } from '../support/outside/local-server.ts'
import { inOneAttempt } from '../support/running/attempts.ts'
import { until } from '../support/running/until.ts'
import { newAgent } from '../support/service/agents.ts'
import { startChildService } from '../support/service/child-service.ts'
import { type Service, startService } from '../support/service/service.ts'

const SETTINGS = { ...LOCAL_TOOLS, MOORAGE_MASTER_KEY: '00'.repeat(32) }
/** How soon another node continues with what a dead node was doing. */
const NOTICED_MS = 10_000

describe('a node that dies or is suspended, on PostgreSQL', { concurrency: true }, () => {
  let survivor: Service
  before(async () => {
    survivor = await startService('postgres', SETTINGS)
  })
  after(() => survivor.stop())

  /** A run of a client that waits for a node of its own; the run is held in a tool. */
  async function holdOnAnotherNode(t: TestContext) {
    const node = await startChildService(t, 'postgres', {
      ...SETTINGS,
      MOORAGE_INIT_KEY: survivor.admin,
      DATABASE_URL: databaseUrl(survivor),
    })
    const held: (() => void)[] = []
    const tool = await startLocalServer(async (_request, response) => {
      await new Promise<void>((resolve) => held.push(resolve))
      response.end('done')
    })
    t.after(() => tool.close())
    const agent = await newAgent(survivor, {
      model: 'builtin/script',
      tools: [{ type: 'http', name: 'act', url: tool.url, retry: 'safe' }],
      script: { rules: [{ call: { tool: 'act', arguments: {} }, reply: 'acted' }] },
      limits: { max_concurrency: 1 },
    })
    const hook = { agent_id: agent, url: `${NOWHERE}/hook`, events: ['*'] }
    const { body: webhook } = await survivor.call('POST', '/v1/webhooks', { body: hook })
    const key = { 'Idempotency-Key': `run-${agent}` }
    const path = `/v1/agents/${agent}/invoke`
    const answered = node.send('POST', path, { message: 'go' }, key)
    await until('it runs there', () => held.length === 1)
    return {
      node,
      held,
      answered,
      release: () => held.forEach((resolve) => resolve()),
      retry: () => survivor.call('POST', path, { body: { message: 'go' }, headers: key }),
      async receipts() {
        const { data } = (await survivor.call('GET', `/v1/agents/${agent}/invocations`)).body
        return data.map(({ status, attempts }: { status: string; attempts: unknown[] }) => [status, attempts.length])
      },
      /** Of each event that webhooks hear. */
      async events() {
        const { data } = (await survivor.call('GET', `/v1/webhooks/${webhook.data.id}/deliveries`)).body
        return data.map(({ event }: { event: string }) => event)
      },
    }
  }

  test('if it dies, its run continues elsewhere within ten seconds, and a retry gets the answer', async (t) => {
    await inOneAttempt(async () => {
      const { node, held, release, retry, receipts, events } = await holdOnAnotherNode(t)
      await node.kill()
      const died = performance.now()
      await until('another node has it', () => held.length === 2, 2 * NOTICED_MS)
      const noticed = performance.now() - died
      release()
      const { status, body } = await retry()
      assert.deepEqual([status, body.data.response], [200, 'acted'])
      assert.deepEqual(await receipts(), [['completed', 2]])
      assert.deepEqual(await events(), ['agent.completed'])
      assert.ok(noticed < NOTICED_MS, `it was noticed after ${Math.round(noticed)} ms`)
    })
  })

  test('if it is suspended for a few seconds, it keeps its run', async (t) => {
    await inOneAttempt(async () => {
      const { node, held, release, retry, receipts, events } = await holdOnAnotherNode(t)
      process.kill(node.pid(), 'SIGSTOP')
      await delay(3_000)
      process.kill(node.pid(), 'SIGCONT')
      // Longer than it takes to notice a death.
      await delay(NOTICED_MS)
      release()
      assert.equal(held.length, 1)
      assert.equal((await retry()).body.data.response, 'acted')
      assert.deepEqual(await receipts(), [['completed', 1]])
      assert.deepEqual(await events(), ['agent.completed'])
    })
  })

  test('if it is suspended for longer, another node takes its run, and its own late writes have no effect', async (t) => {
    const { node, held, answered, release, retry, receipts, events } = await holdOnAnotherNode(t)
    process.kill(node.pid(), 'SIGSTOP')
    await until('another node has it', () => held.length === 2)
    process.kill(node.pid(), 'SIGCONT')
    release()
    assert.equal((await retry()).body.data.response, 'acted')
    await answered
    assert.deepEqual(await receipts(), [['completed', 2]])
    assert.deepEqual(await events(), ['agent.completed'])
    assert.equal(held.length, 2)
  })
})
