import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { describe, test } from 'node:test'
import { newAgent } from './support/agents.ts'
import { countQueries } from './support/count-queries.ts'
import { betweenNodes, onBothEngines, type Service } from './support/service.ts'
import { until } from './support/until.ts'

const slow = (ms: number) => ({ model: 'builtin/script', script: { rules: [{ reply: 'done', delay_ms: ms }] } })

function invoke(service: Service, agent: string, headers: Record<string, string> = {}) {
  return service.call('POST', `/v1/agents/${agent}/invoke`, { body: { message: 'go' }, headers })
}

async function running(service: Service, agent: string): Promise<void> {
  await until('the run', () => service.app.parts.live.ofAgent(agent).length === 1)
}

onBothEngines('an invocation happens once', (service, engine) => {
  test('a jump of the clock does not make a retry take over what still runs here', async () => {
    const agent = await newAgent(service(), slow(600))
    const headers = { 'Idempotency-Key': randomUUID() }
    const first = invoke(service(), agent, headers)
    await running(service(), agent)
    service().advance(31_000)
    const second = await invoke(service(), agent, headers)
    assert.equal((await first).status, 200)
    assert.equal(second.status, 200)
    assert.equal(second.text, (await first).text)
    const { body } = await service().call('GET', `/v1/agents/${agent}/invocations`)
    assert.equal(body.pagination.total, 1)
  })

  test('a run whose claim was taken over leaves nothing behind', async () => {
    const agent = await newAgent(service(), slow(600))
    const key = randomUUID()
    const reply = invoke(service(), agent, { 'Idempotency-Key': key })
    await until('the stored run', async () => {
      const { body } = await service().call('GET', `/v1/agents/${agent}/invocations?status=running`)
      return body.pagination.total === 1
    })
    const { db } = service().app.parts.storage
    await db.updateTable('claims').set({ owner: 'another node' }).where('key', '=', key).execute()
    const { status, body } = await reply
    assert.equal(status, 409)
    assert.equal(body.error.code, 'idempotency_key_in_use')
    const logs = await service().call('GET', `/v1/agents/${agent}/logs`)
    assert.equal(logs.body.pagination.total, 0)
    const completed = await service().call('GET', `/v1/agents/${agent}/invocations?status=completed`)
    assert.equal(completed.body.pagination.total, 0)
  })

  const costs = async (agent: string) => {
    const keyed = () => invoke(service(), agent, { 'Idempotency-Key': randomUUID() })
    // The first fills what the node remembers.
    await keyed()
    return countQueries(service().engine, async () => {
      assert.equal((await keyed()).status, 200)
    })
  }

  test('with its key it costs the database one query, which claims the key and writes all that it leaves', async () => {
    await until('one query, and nothing in the background', async () => (await costs('hello')) === 1)
  })

  test('one that waits for something costs two: its key is claimed before', async () => {
    const agent = await newAgent(service(), slow(1))
    await until('two queries, and nothing in the background', async () => (await costs(agent)) === 2)
  })

  test('retries that the node knows nothing of get the first answer, and fail none of those beside them', async () => {
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

  test('a run that fails frees its key', async () => {
    const agent = await newAgent(service(), { model: 'builtin/script', script: { rules: [{ fail: 'no luck' }] } })
    const headers = { 'Idempotency-Key': randomUUID() }
    for (let run = 1; run <= 2; run++) {
      assert.equal((await invoke(service(), agent, headers)).status, 500)
      const { body } = await service().call('GET', `/v1/agents/${agent}/invocations?status=failed`)
      assert.equal(body.pagination.total, run)
    }
  })

  betweenNodes(engine)('at two nodes at the same moment: one of them runs, and both give its answer', async () => {
    const node = await service().beside()
    try {
      const agent = await newAgent(service(), {})
      const keys = Array.from({ length: 40 }, () => randomUUID())
      const sent = keys.flatMap((key) => [service(), node].map((to) => invoke(to, agent, { 'Idempotency-Key': key })))
      const replies = await Promise.all(sent)
      assert.deepEqual([...new Set(replies.map(({ status }) => status))], [200])
      for (let i = 0; i < replies.length; i += 2) assert.equal(replies[i]?.text, replies[i + 1]?.text)
      assert.equal(new Set(replies.map(({ body }) => body.data.request_id)).size, keys.length)
      const { body } = await service().call('GET', `/v1/agents/${agent}/invocations`)
      assert.equal(body.pagination.total, keys.length)
    } finally {
      await node.stop()
    }
  })

  test('a key that was answered 202 is answered 202 again, also to who asks for a stream', async () => {
    const headers = { 'Idempotency-Key': randomUUID() }
    const first = await invoke(service(), 'hello', { ...headers, Prefer: 'respond-async' })
    const again = await invoke(service(), 'hello', { ...headers, Accept: 'text/event-stream' })
    assert.deepEqual([first.status, again.status], [202, 202])
    assert.equal(again.text, first.text)
  })

  describe('bytes that are not HTTP', () => {
    test('sent while a request runs they are answered after it, not in its place', async () => {
      const agent = await newAgent(service(), slow(400))
      const socket = connect(Number(new URL(service().url).port), '127.0.0.1')
      const body = '{"message":"go"}'
      const head = ['Host: x', `Authorization: Bearer ${service().admin}`, 'Content-Type: application/json']
      socket.write(
        `POST /v1/agents/${agent}/invoke HTTP/1.1\r\n${head.join('\r\n')}\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
      )
      await running(service(), agent)
      socket.write('\0\0 nonsense \r\n\r\n')
      const received = await text(socket).catch(() => '')
      assert.deepEqual(received.match(/HTTP\/1\.1 \d{3}/g), ['HTTP/1.1 200', 'HTTP/1.1 400'])
    })
  })
})
