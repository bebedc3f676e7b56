import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sendHalf } from '../support/clients/half-sent.ts'
import { storeOf } from '../support/inside.ts'
import { LOCAL_TOOLS } from '../support/outside/local-server.ts'
import { until } from '../support/running/until.ts'
import { holdRuns } from '../support/service/held-runs.ts'
import { inProject, onAnyEngine, type Service, withService } from '../support/service/service.ts'
import { createAgent, createKey } from '../support/slices/resources.ts'

// After an agent has moved, everything that the old project still has of it must be useless.
onAnyEngine(
  'when an agent moves to another project',
  (service) => {
    let made = 0
    /** An agent, a key of its project, and its move to another. */
    const moving = async (body: object = {}) => {
      const [old, fresh] = [`old-${++made}`, `new-${made}`]
      for (const name of [old, fresh]) {
        assert.equal((await service().call('POST', '/v1/projects', { body: { name } })).status, 201)
      }
      const from = inProject(service(), old)
      const agent = await createAgent(from, 'mover', body)
      const { secret: key } = await createKey(from, { role: 'admin' })
      const move = async () => {
        const reply = await from.call('POST', `/v1/agents/${agent}/move`, { body: { project: fresh } })
        assert.equal(reply.status, 200, reply.text)
      }
      return { agent, key, move, to: inProject(service(), fresh) }
    }

    test("the old project's listeners stop receiving its events", async () => {
      const { agent, key, move, to } = await moving()
      const body = { agent_id: agent, events: ['*'] }
      const { id } = (await service().call('POST', '/v1/listeners', { key, body })).body.data
      assert.equal((await service().call('GET', `/v1/listeners/${id}`, { key })).status, 200)
      await move()
      await to.call('POST', `/v1/agents/${agent}/invoke`, { body: { message: 'among us' } })
      assert.equal((await service().call('GET', `/v1/listeners/${id}`, { key })).status, 404)
    })

    test("the old project's webhooks don't receive runs that end after the move", async (t) => {
      const held = await holdRuns(t)
      const { agent, key, move } = await moving(held.agent)
      const { id } = (await service().call('POST', '/v1/listeners', { key, body: { events: ['*'] } })).body.data
      const asked = await service().call('POST', `/v1/agents/${agent}/invoke`, {
        key,
        body: { message: 'go' },
        headers: { Prefer: 'respond-async' },
      })
      assert.equal(asked.status, 202, asked.text)
      await until('it runs', () => held.count() === 1)
      await move()
      held.release()
      const db = storeOf(service())
      const run = db.selectFrom('all_invocations').select('status').where('id', '=', asked.body.data.request_id)
      await until('the run has ended', async () => (await run.executeTakeFirstOrThrow()).status === 'completed')
      const { body } = await service().call('GET', `/v1/listeners/${id}`, { key })
      assert.deepEqual(body.data.deliveries, [])
    })

    test('the audit logs of both projects record the move', async () => {
      const { agent, move, to } = await moving()
      await move()
      const told = async (from: Service) => (await from.call('GET', '/v1/audit-log?action=moveAgent')).body.data
      const entry = { action: 'moveAgent', target: agent, agent_id: agent, fields: ['project'], outcome: 'success' }
      assert.partialDeepStrictEqual(await told(to), [entry])
      assert.partialDeepStrictEqual(await told(inProject(service(), `old-${made}`)), [entry])
    })

    test("the old project's streams end", async () => {
      const { agent, key, move } = await moving({
        model: 'builtin/script',
        script: { rules: [{ reply: 'never', delay_ms: 60_000 }] },
      })
      const reply = await fetch(`${service().url}/v1/agents/${agent}/invoke`, {
        method: 'POST',
        headers: {
          Authorization: `Bearer ${key}`,
          Accept: 'text/event-stream',
          'Content-Type': 'application/json',
          'Idempotency-Key': 'followed',
        },
        body: JSON.stringify({ message: 'go' }),
      })
      assert.equal(reply.status, 200)
      const over = reply.text().then(
        () => 'ended',
        () => 'cut',
      )
      await move()
      assert.equal(await over, 'cut')
      await service().call('PATCH', `/v1/agents/${agent}`, { body: { status: 'paused' } })
    })

    test('a request whose body arrives after the move gets 404 and changes nothing', async () => {
      const { agent, key, move, to } = await moving()
      const sent = { method: 'PATCH', key, body: { description: 'mine' } }
      const half = sendHalf(`${service().url}/v1/agents/${agent}`, sent)
      // The request sent before this call has passed the checks by now. If it hasn't, it won't find the agent later.
      assert.equal((await service().call('GET', '/v1/keys/self', { key })).status, 200)
      await move()
      assert.equal(await half.finish(), 404)
      assert.equal((await to.call('GET', `/v1/agents/${agent}`)).body.data.description, null)
    })

    test("schedules of the old project's keys are disabled", async () => {
      const { agent, key, move, to } = await moving()
      const body = { every: '1h', message: 'again' }
      const made_by = await service().call('POST', `/v1/agents/${agent}/schedules`, { key, body })
      assert.equal(made_by.status, 201, made_by.text)
      await move()
      const path = `/v1/agents/${agent}/schedules/${made_by.body.data.id}`
      service().advance(3_700_000)
      try {
        await until('it is disabled', async () => (await to.call('GET', path)).body.data.enabled === false)
        assert.equal((await to.call('GET', `/v1/agents/${agent}/invocations`)).body.pagination.total, 0)
      } finally {
        service().advance(-3_700_000)
      }
    })
  },
  LOCAL_TOOLS,
)

test("a project does not hide another project's pages, whatever its agents are called", () =>
  withService(
    'sqlite',
    async (service) => {
      const preflight = async () => {
        const { status } = await fetch(`${service.url}/v1/agents/clerk`, {
          method: 'OPTIONS',
          headers: { Origin: 'https://app.example', 'Access-Control-Request-Method': 'GET' },
        })
        return status
      }
      assert.equal(await preflight(), 200)
      await service.call('POST', '/v1/projects', { body: { name: 'rude' } })
      await createAgent(inProject(service, 'rude'), 'clerk', {
        security: { cors: { origins: ['https://rude.example'] } },
      })
      assert.equal(await preflight(), 200)
      await createAgent(service, 'clerk', { security: { cors: { origins: ['https://own.example'] } } })
      assert.equal(await preflight(), 401)
    },
    { MOORAGE_SECURITY__CORS__ORIGINS: 'https://app.example' },
  ))

test('asking for other projects is counted as a request, and does not reveal the names of their keys', () =>
  withService('sqlite', async (service: Service) => {
    await service.call('POST', '/v1/projects', { body: { name: 'poor' } })
    const { secret: key } = await createKey(inProject(service, 'poor'), { role: 'admin', tier: 'free' })
    const { body } = await service.call('GET', '/v1/keys', { key })
    assert.equal(body.data[0].created_by_name, null)
    const statuses = new Set<number>()
    for (let i = 0; i < 110; i++) {
      const headers = { 'Moorage-Project': `guess-${i}` }
      statuses.add((await service.call('GET', '/v1/agents', { key, headers })).status)
    }
    assert.deepEqual(statuses, new Set([403, 429]))
  }))
