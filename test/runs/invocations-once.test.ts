import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { describe, test } from 'node:test'
import pg from 'pg'
import { databaseUrl, partsOf, storeOf } from '../support/inside.ts'
import { LOCAL_TOOLS } from '../support/outside/local-server.ts'
import { until } from '../support/running/until.ts'
import { newAgent } from '../support/service/agents.ts'
import { holdRuns } from '../support/service/held-runs.ts'
import { betweenNodes, onEveryEngine, type Service } from '../support/service/service.ts'
import { lockWaiters } from '../support/stores/lock-waiters.ts'

function invoke(service: Service, agent: string, headers: Record<string, string> = {}) {
  return service.call('POST', `/v1/agents/${agent}/invoke`, { body: { message: 'go' }, headers })
}

/** After these replies, the service has read everything that was sent before. */
async function turnAround(service: Service): Promise<void> {
  for (let i = 0; i < 3; i++) await service.call('GET', '/healthz')
}

onEveryEngine(
  'an invocation with an Idempotency-Key runs once',
  (service, engine) => {
    test('a clock jump does not make a retry take over a run that is still active on this node', async (t) => {
      const held = await holdRuns(t)
      const agent = await newAgent(service(), held.agent)
      const headers = { 'Idempotency-Key': randomUUID() }
      const first = invoke(service(), agent, headers)
      await until('it runs', () => held.count() === 1)
      service().advance(31_000)
      const second = invoke(service(), agent, headers)
      await turnAround(service())
      held.release()
      assert.deepEqual([(await first).status, (await second).status], [200, 200])
      assert.equal((await second).text, (await first).text)
      const { body } = await service().call('GET', `/v1/agents/${agent}/invocations`)
      assert.equal(body.pagination.total, 1)
      service().advance(-31_000)
    })

    const loseClaim = async (key: string) => {
      const db = storeOf(service())
      const { numUpdatedRows } = await db
        .updateTable('claims')
        .set({ owner: 'another node' })
        .where('key', '=', key)
        .executeTakeFirst()
      return numUpdatedRows > 0n
    }
    const countOf = async (path: string) => (await service().call('GET', path)).body.pagination.total

    test('a run whose claim was taken over still completes, and its request follows it', async (t) => {
      const held = await holdRuns(t)
      const agent = await newAgent(service(), held.agent)
      const key = randomUUID()
      const reply = invoke(service(), agent, { 'Idempotency-Key': key })
      const path = `/v1/agents/${agent}/invocations`
      await until('the stored run', async () => (await countOf(`${path}?status=running`)) === 1)
      assert.ok(await loseClaim(key))
      held.release()
      assert.equal((await reply).status, 200)
      assert.equal(await countOf(`${path}?status=completed`), 1)
    })

    test('after a restart, retries get the first reply, and other requests at the same time succeed', async () => {
      const agent = await newAgent(service(), {})
      const send = (i: number, message = `message ${i}`) =>
        service().call('POST', `/v1/agents/${agent}/invoke`, {
          body: { message },
          headers: { 'Idempotency-Key': `again-${i}` },
        })
      const numbers = Array.from({ length: 12 }, (_, i) => i)
      const first = await Promise.all(numbers.map((i) => send(i)))
      await service().restart()
      const [again, others, fresh, without] = await Promise.all([
        Promise.all(numbers.slice(0, 8).map((i) => send(i))),
        Promise.all(numbers.slice(8).map((i) => send(i, 'another message'))),
        Promise.all(numbers.map((i) => send(100 + i))),
        Promise.all(numbers.map(() => invoke(service(), agent))),
      ])
      assert.deepEqual(
        again.map(({ text: reply, headers }) => [reply, headers.get('idempotent-replayed')]),
        first.slice(0, 8).map(({ text: reply }) => [reply, 'true']),
      )
      assert.deepEqual([...new Set(others.map(({ body }) => body.error.code))], ['idempotency_key_reused'])
      assert.deepEqual([...new Set([...fresh, ...without].map(({ status }) => status))], [200])
      const { body } = await service().call('GET', `/v1/agents/${agent}/invocations`)
      assert.equal(body.pagination.total, 36)
      const logs = await service().call('GET', `/v1/agents/${agent}/logs`)
      assert.equal(logs.body.pagination.total, 36)
    })

    test('the claims of new keys go through the journal, and repeated requests make no commit fail', async (t) => {
      const agent = await newAgent(service(), {})
      const { journal } = partsOf(service())
      const { commit } = journal
      let claimed = 0
      let failed = 0
      t.after(() => void (journal.commit = commit))
      journal.commit = async (entry) => {
        claimed += entry.writes.filter(({ into }) => into.table === 'claims').length
        return commit(entry).catch((error: unknown) => {
          failed += 1
          throw error
        })
      }
      const keys = Array.from({ length: 4 }, () => ({ 'Idempotency-Key': randomUUID() }))
      const sendAll = () => Promise.all([...keys, ...keys].map((headers) => invoke(service(), agent, headers)))
      const replies = [...(await sendAll()), ...(await sendAll())]
      assert.deepEqual([...new Set(replies.map(({ status }) => status))], [200])
      assert.equal(await countOf(`/v1/agents/${agent}/invocations`), keys.length)
      assert.deepEqual({ claimed, failed }, { claimed: keys.length, failed: 0 })
    })

    test('a failed run frees its key, so a retry runs again', async () => {
      const agent = await newAgent(service(), { model: 'builtin/script', script: { rules: [{ fail: 'no luck' }] } })
      const headers = { 'Idempotency-Key': randomUUID() }
      for (let run = 1; run <= 2; run++) {
        assert.equal((await invoke(service(), agent, headers)).status, 500)
        const { body } = await service().call('GET', `/v1/agents/${agent}/invocations?status=failed`)
        assert.equal(body.pagination.total, run)
      }
    })

    betweenNodes(engine)('a run that fails while another node stores a reply returns that reply', async () => {
      const agent = await newAgent(service(), { model: 'builtin/script', script: { rules: [{ reply: 'done' }] } })
      const known = randomUUID()
      const { text: answer } = await invoke(service(), agent, { 'Idempotency-Key': known })
      await service().call('PATCH', `/v1/agents/${agent}`, { body: { script: { rules: [{ fail: 'no luck' }] } } })
      const other = new pg.Client({ connectionString: databaseUrl(service()) })
      await other.connect()
      try {
        const key = randomUUID()
        await other.query('begin')
        await other.query(
          `insert into claims (scope, key, project_id, fingerprint, owner, lease_until, created_at, status, headers, body)
         select scope, $1, project_id, fingerprint, 'another node', lease_until, created_at, status, headers, body from claims where key = $2`,
          [key, known],
        )
        const reply = invoke(service(), agent, { 'Idempotency-Key': key })
        await until('the failure waits for the other node', () => lockWaiters(other))
        await other.query('commit')
        const { status, text: given, headers } = await reply
        assert.deepEqual([status, given, headers.get('idempotent-replayed')], [200, answer, 'true'])
        assert.equal(await countOf(`/v1/agents/${agent}/invocations?status=failed`), 0)
      } finally {
        await other.end()
      }
    })

    test('a stored reply is repeated after the agent was paused and the node restarted', async () => {
      const agent = await newAgent(service(), {})
      const headers = { 'Idempotency-Key': randomUUID() }
      const first = await invoke(service(), agent, headers)
      await service().call('PATCH', `/v1/agents/${agent}`, { body: { status: 'paused' } })
      await service().restart()
      const again = await invoke(service(), agent, headers)
      assert.deepEqual([again.status, again.text], [200, first.text])
      const body = { message: 'another' }
      const other = await service().call('POST', `/v1/agents/${agent}/invoke`, { body, headers })
      assert.deepEqual([other.status, other.body.error.code], [422, 'idempotency_key_reused'])
      const refused = await invoke(service(), agent, { 'Idempotency-Key': randomUUID() })
      assert.deepEqual([refused.status, refused.body.error.code], [409, 'agent_paused'])
    })

    betweenNodes(engine)('a reply stored by one node is returned by another, even if a run would fail', async () => {
      const node = await service().beside()
      try {
        const script = (rule: object) => ({ model: 'builtin/script', script: { rules: [rule] } })
        const agent = await newAgent(service(), script({ reply: 'paid' }))
        const headers = { 'Idempotency-Key': randomUUID() }
        const first = await invoke(service(), agent, headers)
        await node.call('PATCH', `/v1/agents/${agent}`, { body: script({ fail: 'no money' }) })
        const again = await invoke(node, agent, headers)
        assert.deepEqual([again.status, again.text], [200, first.text])
        const { body } = await node.call('GET', `/v1/agents/${agent}/invocations`)
        assert.equal(body.pagination.total, 1)
      } finally {
        await node.stop()
      }
    })

    betweenNodes(engine)('at two nodes at the same time, one runs and both return the same reply', async () => {
      const node = await service().beside()
      try {
        const agent = await newAgent(service(), {})
        const keys = Array.from({ length: 40 }, () => randomUUID())
        const send = (to: Service) => (key: string) => invoke(to, agent, { 'Idempotency-Key': key })
        const [here, there] = await Promise.all([
          Promise.all(keys.map(send(service()))),
          Promise.all(keys.toReversed().map(send(node))),
        ])
        assert.deepEqual([...new Set([...here, ...there].map(({ status }) => status))], [200])
        const texts = (replies: typeof here) => replies.map((reply) => reply.text)
        assert.deepEqual(texts(here), texts(there).toReversed())
        assert.equal(new Set(here.map(({ body }) => body.data.request_id)).size, keys.length)
        const { body } = await service().call('GET', `/v1/agents/${agent}/invocations`)
        assert.equal(body.pagination.total, keys.length)
      } finally {
        await node.stop()
      }
    })

    test('a key that got 202 gets 202 again, even in a request for a stream', async () => {
      const headers = { 'Idempotency-Key': randomUUID() }
      const first = await invoke(service(), 'hello', { ...headers, Prefer: 'respond-async' })
      const again = await invoke(service(), 'hello', { ...headers, Accept: 'text/event-stream' })
      assert.deepEqual([first.status, again.status], [202, 202])
      assert.equal(again.text, first.text)
    })

    describe('invalid HTTP', () => {
      test('sent while a request runs they are answered after it, not in its place', async (t) => {
        const held = await holdRuns(t)
        const agent = await newAgent(service(), held.agent)
        const socket = connect(Number(new URL(service().url).port), '127.0.0.1')
        const body = '{"message":"go"}'
        const head = ['Host: x', `Authorization: Bearer ${service().admin}`, 'Content-Type: application/json']
        socket.write(
          `POST /v1/agents/${agent}/invoke HTTP/1.1\r\n${head.join('\r\n')}\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
        )
        await until('it runs', () => held.count() === 1)
        socket.write('\0\0 nonsense \r\n\r\n')
        await turnAround(service())
        held.release()
        const received = await text(socket).catch(() => '')
        assert.deepEqual(received.match(/HTTP\/1\.1 \d{3}/g), ['HTTP/1.1 200', 'HTTP/1.1 400'])
      })
    })
  },
  LOCAL_TOOLS,
)
