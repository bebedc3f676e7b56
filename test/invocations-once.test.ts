import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { describe, test } from 'node:test'
import { newAgent } from './support/agents.ts'
import { countQueries } from './support/count-queries.ts'
import { onBothEngines, type Service } from './support/service.ts'
import { until } from './support/until.ts'

const slow = (ms: number) => ({ model: 'builtin/script', script: { rules: [{ reply: 'done', delay_ms: ms }] } })

function invoke(service: Service, agent: string, headers: Record<string, string> = {}) {
  return service.call('POST', `/v1/agents/${agent}/invoke`, { body: { message: 'go' }, headers })
}

async function running(service: Service, agent: string): Promise<void> {
  await until('the run', () => service.app.parts.live.ofAgent(agent).length === 1)
}

onBothEngines('an invocation happens once', (service) => {
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

  test('with its key it costs the database two queries: one claims the key, one writes all that it leaves', async () => {
    const keyed = () => invoke(service(), 'hello', { 'Idempotency-Key': randomUUID() })
    // The first fills what the node remembers.
    await keyed()
    const queries = await countQueries(service().engine, async () => {
      assert.equal((await keyed()).status, 200)
    })
    assert.ok(queries <= 3, `${queries} queries`)
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
