import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, test } from 'node:test'
import { allEvents } from '../support/clients/sse.ts'
import { liveRuns } from '../support/inside.ts'
import { LOCAL_TOOLS } from '../support/outside/local-server.ts'
import { until } from '../support/running/until.ts'
import { newAgent } from '../support/service/agents.ts'
import { holdRuns } from '../support/service/held-runs.ts'
import { onAnyEngine, type Service, startService } from '../support/service/service.ts'

const slow = (ms: number) => ({ model: 'builtin/script', script: { rules: [{ reply: 'done', delay_ms: ms }] } })

function invoke(service: Service, agent: string, headers: Record<string, string> = {}) {
  return service.call('POST', `/v1/agents/${agent}/invoke`, { body: { message: 'go' }, headers })
}

function follow(service: Service, path: string): Promise<Response> {
  return fetch(service.url + path, { headers: { Authorization: `Bearer ${service.admin}` } })
}

onAnyEngine(
  "limits of an agent's runs",
  (service) => {
    test('max_concurrency applies to invocations that arrive at the same time', async (t) => {
      const held = await holdRuns(t)
      const agent = await newAgent(service(), { ...held.agent, limits: { max_concurrency: 2 } })
      const statuses: number[] = []
      const replies = Array.from({ length: 12 }, async () => statuses.push((await invoke(service(), agent)).status))
      await until('all others are refused', () => statuses.length === 10 && held.count() === 2)
      held.release()
      await Promise.all(replies)
      assert.deepEqual(statuses, [...Array(10).fill(429), 200, 200])
    })

    test('queued invocations wait for a slot, and all of them run', async () => {
      const agent = await newAgent(service(), { ...slow(100), limits: { max_concurrency: 1 } })
      await Promise.all(Array.from({ length: 4 }, () => invoke(service(), agent, { Prefer: 'respond-async' })))
      type Receipt = { status: string; started_at: string; finished_at: string }
      const receipts: Receipt[] = await until('all answers', async () => {
        const { body } = await service().call('GET', `/v1/agents/${agent}/invocations`)
        return body.data.every(({ status }: Receipt) => status === 'completed') && body.data
      })
      assert.equal(receipts.length, 4)
      // No run started before the previous one had ended, so the test does not depend on timing.
      const begun = receipts.toSorted((a, b) => a.started_at.localeCompare(b.started_at))
      for (const [i, { started_at }] of begun.entries()) {
        assert.ok(i === 0 || started_at >= (begun[i - 1] as Receipt).finished_at, 'one at a time')
      }
    })

    test('after a pause, nothing runs, whatever was requested around it', async () => {
      const agent = await newAgent(service(), slow(60_000))
      const asked = Array.from({ length: 10 }, () => invoke(service(), agent))
      const paused = service().call('PATCH', `/v1/agents/${agent}`, { body: { status: 'paused' } })
      const late = Array.from({ length: 10 }, () => invoke(service(), agent))
      assert.equal((await paused).status, 200)
      for (const { status, body } of await Promise.all([...asked, ...late])) {
        assert.equal(status, 409)
        assert.ok(['agent_paused', 'conflict'].includes(body.error.code))
      }
      assert.equal(liveRuns(service(), agent).length, 0)
    })

    describe('GET …/stream', () => {
      test('sends headers immediately, before there is any output', async () => {
        const agent = await newAgent(service(), slow(60_000))
        const { body } = await invoke(service(), agent, { Prefer: 'respond-async' })
        const path = `/v1/agents/${agent}/invocations/${body.data.request_id}`
        const response = await follow(service(), `${path}/stream`)
        assert.equal(response.status, 200)
        assert.equal((await service().call('GET', path)).body.data.response, null)
        await service().call('POST', `${path}/cancel`)
        const events = await allEvents(response)
        assert.equal(events.at(-1)?.event, 'error')
      })

      test('for a failed run, sends the same end as the run itself, and nothing more', async () => {
        const agent = await newAgent(service(), {
          model: 'builtin/script',
          script: { rules: [{ fail: 'no coal left' }] },
        })
        const { body } = await invoke(service(), agent)
        const response = await follow(service(), `/v1/agents/${agent}/invocations/${body.request_id}/stream`)
        assert.equal(response.status, 200)
        const events = await allEvents(response)
        const last = events.at(-1) as { event: string; data: { error: unknown } }
        const { error } = last.data
        assert.deepEqual([last.event, error], ['error', { code: 'server_error', message: 'no coal left' }])
      })
    })

    test('a run with an Idempotency-Key whose client has disconnected continues after a restart', async () => {
      const agent = await newAgent(service(), slow(60_000))
      const hangUp = new AbortController()
      const gone = fetch(`${service().url}/v1/agents/${agent}/invoke`, {
        method: 'POST',
        headers: {
          Authorization: `Bearer ${service().admin}`,
          'Content-Type': 'application/json',
          'Idempotency-Key': randomUUID(),
        },
        body: '{"message":"go"}',
        signal: hangUp.signal,
      }).catch(() => {})
      await until('the run', () => liveRuns(service(), agent).length === 1)
      hangUp.abort()
      await gone
      await service().restart()
      const { body } = await service().call('GET', `/v1/agents/${agent}/invocations`)
      assert.equal(body.data.length, 1)
      const [{ request_id, status }] = body.data
      assert.ok(status === 'queued' || status === 'running', `it is ${status}, and goes on`)
      const cancelled = await service().call('POST', `/v1/agents/${agent}/invocations/${request_id}/cancel`)
      assert.equal(cancelled.body.data.status, 'cancelled')
    })
  },
  LOCAL_TOOLS,
)

test('two nodes under load, one with keys and one without, lose no invocation to each other', async () => {
  const service = await startService('postgres')
  const other = await service.beside()
  const agent = await newAgent(service)
  const load = async (node: Service, headers: () => Record<string, string>) => {
    const statuses: number[] = []
    for (let i = 0; i < 25; i++) statuses.push((await invoke(node, agent, headers())).status)
    return statuses
  }
  const plain = Array.from({ length: 6 }, () => load(service, () => ({})))
  const keyed = Array.from({ length: 6 }, () => load(other, () => ({ 'Idempotency-Key': randomUUID() })))
  const statuses = (await Promise.all([...plain, ...keyed])).flat()
  await other.stop()
  await service.stop()
  assert.deepEqual(new Set(statuses), new Set([200]))
})
