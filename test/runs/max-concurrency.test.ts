import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { LOCAL_TOOLS, startLocalServer } from '../support/outside/local-server.ts'
import { until } from '../support/running/until.ts'
import { newAgent } from '../support/service/agents.ts'
import { type Service, startService } from '../support/service/service.ts'

const BACKGROUND = { Prefer: 'respond-async' }

describe('max_concurrency of an agent, on two nodes', () => {
  let first: Service
  let second: Service
  let tool: Awaited<ReturnType<typeof startLocalServer>>
  let calls = 0
  let atOnce = 0
  let most = 0
  /** Runs last until this resolves. */
  let gate: Promise<unknown> = Promise.resolve()
  before(async () => {
    first = await startService('postgres', {
      ...LOCAL_TOOLS,
    })
    second = await first.beside()
    tool = await startLocalServer(async (_request, response) => {
      calls++
      most = Math.max(most, ++atOnce)
      await gate
      atOnce--
      response.end('done')
    })
  })
  after(async () => {
    await second.stop()
    await first.stop()
    await tool.close()
  })

  /** An agent whose tool tells how many of its runs are in progress at once. */
  const limited = (max_concurrency: number) => {
    calls = atOnce = most = 0
    return newAgent(first, {
      model: 'builtin/script',
      script: { rules: [{ call: { tool: 'act' }, reply: 'acted' }] },
      tools: [{ type: 'http', name: 'act', url: tool.url }],
      limits: { max_concurrency },
    })
  }
  const invoke = (node: Service, agent: string, headers: Record<string, string> = {}) =>
    node.call('POST', `/v1/agents/${agent}/invoke`, { body: { message: 'go' }, headers })

  test('applies to both together, whatever arrives at the same time', async () => {
    const agent = await limited(3)
    for (let round = 0; round < 3; round++) {
      const { promise, resolve } = Promise.withResolvers<void>()
      gate = promise
      const statuses: number[] = []
      const asked = Array.from({ length: 20 }, async (_, i) => {
        statuses.push((await invoke(i % 2 ? first : second, agent)).status)
      })
      await until('three run and all others are refused', () => atOnce === 3 && statuses.length === 17)
      assert.deepEqual(new Set(statuses), new Set([429]))
      resolve()
      await Promise.all(asked)
      assert.deepEqual(statuses.slice(17), [200, 200, 200])
    }
    assert.deepEqual([calls, most], [9, 3])
  })

  test('a place is free for either node as soon as its run is answered', async () => {
    const agent = await limited(1)
    for (let i = 0; i < 6; i++) assert.equal((await invoke(i % 2 ? first : second, agent)).status, 200)
  })

  test('queued runs wait for a slot on any node, and all of them run', async () => {
    const agent = await limited(2)
    // Two are there at once, however slowly they come; a third would come soon.
    gate = until('two run', () => most >= 2).then(() => delay(200))
    await Promise.all(Array.from({ length: 12 }, (_, i) => invoke(i % 2 ? first : second, agent, BACKGROUND)))
    const completed = await until('all have run', async () => {
      const { body } = await first.call('GET', `/v1/agents/${agent}/invocations?status=completed&limit=100`)
      return body.data.length === 12 ? (body.data as { attempts: unknown[] }[]) : undefined
    })
    assert.equal(calls, 12)
    assert.deepEqual(new Set(completed.map(({ attempts }) => attempts.length)), new Set([1]), 'to wait is no attempt')
    assert.ok(most <= 2, `${most} at once`)
  })

  test("queued runs start when another node's run has ended", async () => {
    const agent = await limited(1)
    const { promise, resolve } = Promise.withResolvers<void>()
    gate = promise
    const answered = invoke(second, agent)
    await until('it runs', () => calls === 1)
    const queued = [await invoke(first, agent, BACKGROUND), await invoke(second, agent, BACKGROUND)]
    assert.equal((await invoke(first, agent)).status, 429)
    resolve()
    assert.equal((await answered).status, 200)
    for (const { body } of queued) {
      await until('it has run', async () => {
        const reply = await first.call('GET', `/v1/agents/${agent}/invocations/${body.data.request_id}`)
        return reply.body.data.status === 'completed'
      })
    }
    assert.deepEqual([calls, most], [3, 1])
  })

  test('a higher limit starts queued runs, and each version has its own limit', async () => {
    const agent = await limited(1)
    const { promise, resolve } = Promise.withResolvers<void>()
    gate = promise
    const deployed = await first.call('POST', `/v1/agents/${agent}/deployments`, {
      body: { environment: 'staging', version: 'v1' },
    })
    assert.equal(deployed.status, 201)
    for (let i = 0; i < 3; i++) assert.equal((await invoke(first, agent, BACKGROUND)).status, 202)
    await until('one runs', () => calls === 1)
    const raised = await second.call('PATCH', `/v1/agents/${agent}`, { body: { limits: { max_concurrency: 3 } } })
    assert.equal(raised.status, 200)
    await until('all run', () => calls === 3)
    const body = { message: 'go', environment: 'staging' }
    assert.equal((await first.call('POST', `/v1/agents/${agent}/invoke`, { body })).status, 429)
    resolve()
    await until('none runs', () => atOnce === 0)
    await until('it may run', async () => {
      return (await first.call('POST', `/v1/agents/${agent}/invoke`, { body })).status === 200
    })
    assert.deepEqual([calls, most], [4, 3])
  })
})
