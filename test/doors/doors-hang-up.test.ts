import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { liveRun } from '../support/inside.ts'
import { until } from '../support/running/until.ts'
import { onAnyEngine, type Service } from '../support/service/service.ts'
import { createAgent } from '../support/slices/resources.ts'

const RULES = [{ reply: 'too late', delay_ms: 60_000 }]

/** How many follow the run on this node now. */
function countFollowers(service: Service, request_id: string): () => number {
  const run = liveRun(service, request_id)
  assert.ok(run)
  let followers = 0
  const follow = run.follow.bind(run)
  run.follow = (...given) => {
    followers += 1
    const unfollow = follow(...given)
    return () => {
      followers -= 1
      unfollow()
    }
  }
  return () => followers
}

const JSON_RPC = { 'A2A-Version': '1.0', 'MCP-Protocol-Version': '2025-11-25' }

onAnyEngine('a client that disconnects', (service) => {
  before(async () => {
    await createAgent(service(), 'pilot', { model: 'builtin/script', script: { rules: RULES } })
  })

  /** A way to follow a run. */
  type Way = (ids: { request_id: string; agent_id: string }) => { path: string; method?: string; params?: object }

  const ways: Record<string, Way> = {
    'its stream': ({ request_id }) => ({ path: `/v1/agents/pilot/invocations/${request_id}/stream` }),
    'the events of a response': ({ request_id, agent_id }) => ({
      path: `/v1/responses/resp_${request_id.slice(4)}${agent_id.slice(4)}?stream=true`,
    }),
    'the result of a task of MCP': ({ request_id, agent_id }) => ({
      path: '/v1/agents/pilot/mcp',
      method: 'tasks/result',
      params: { taskId: `${agent_id}.${request_id}` },
    }),
    'a task of A2A': ({ request_id }) => ({
      path: '/v1/agents/pilot/a2a',
      method: 'SubscribeToTask',
      params: { id: request_id },
    }),
  }

  for (const [what, way] of Object.entries(ways)) {
    test(`stops following ${what}, and the run continues`, async (t) => {
      const asked = { headers: { Prefer: 'respond-async' }, body: { message: 'ahoy' } }
      const { body: queued } = await service().call('POST', '/v1/agents/pilot/invoke', asked)
      const { request_id } = queued.data
      await until('the run', () => liveRun(service(), request_id)?.began)
      const { body: pilot } = await service().call('GET', '/v1/agents/pilot')
      const followers = countFollowers(service(), request_id)

      const { path, method, params } = way({ request_id, agent_id: pilot.data.id })
      const hangUp = new AbortController()
      t.after(() => hangUp.abort())
      const reply = fetch(service().url + path, {
        method: method ? 'POST' : 'GET',
        headers: {
          ...JSON_RPC,
          Authorization: `Bearer ${service().admin}`,
          Accept: 'application/json, text/event-stream',
          'Content-Type': 'application/json',
        },
        ...(method && { body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }) }),
        signal: hangUp.signal,
      }).catch((error: unknown) => error)
      await until(`a follower: ${await Promise.race([reply, null])}`, () => followers() === 1)
      hangUp.abort()
      await until('no follower', () => followers() === 0)

      const { body: receipt } = await service().call('GET', `/v1/agents/pilot/invocations/${request_id}`)
      assert.equal(receipt.data.status, 'running')
      await service().call('POST', `/v1/agents/pilot/invocations/${request_id}/cancel`)
    })
  }
})
