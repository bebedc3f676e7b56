import assert from 'node:assert/strict'
import { test } from 'node:test'
import { until } from '../support/running/until.ts'
import { startChildService } from '../support/service/child-service.ts'
import { STORY_ENGINES } from '../support/service/service.ts'
import { post, signed } from '../support/slices/triggers.ts'

const EVENTS = 30
const SECRET = 'octo-secret'
const event = (n: number) => signed.github(SECRET, JSON.stringify({ n }))

for (const engine of STORY_ENGINES) {
  test(`kill -9 while events arrive: what was accepted has run once, and what is sent again too, on ${engine}`, async (t) => {
    const service = await startChildService(t, engine)
    await service.call('PUT', '/v1/secrets/GITHUB', { value: SECRET, hosts: ['none.invalid'] })
    const { data: trigger } = await service.call('POST', '/v1/agents/hello/triggers', {
      message: 'Event {{/n}}',
      verify: { scheme: 'github', secret: 'GITHUB' },
    })
    const send = (n: number) => post({ url: service.url() }, trigger.address, event(n))
    const accepted = new Map<number, string>()
    const wave = Array.from({ length: EVENTS * 3 }, (_, i) => i % EVENTS).map(async (n) => {
      const reply = await send(n).catch(() => undefined)
      if (reply?.status === 202) accepted.set(n, reply.body.data.request_id)
      if (accepted.size === EVENTS / 3) void service.kill()
    })
    await Promise.all(wave)
    await service.kill()
    assert.ok(accepted.size >= EVENTS / 3)

    await service.start()
    for (let n = 0; n < EVENTS; n++) {
      const reply = await send(n)
      assert.ok(reply.status === 200 || reply.status === 202, reply.text)
      const before = accepted.get(n)
      if (before) assert.deepEqual([reply.status, reply.body.data.request_id], [200, before])
    }
    const messages = await until('every event has run', async () => {
      const { data } = await service.call('GET', '/v1/agents/hello/invocations?door=trigger&limit=100')
      const isDone = data.every(({ status }: { status: string }) => status === 'completed')
      return isDone && data.length >= EVENTS ? data : undefined
    })
    const ids = messages.map(({ request_id }: { request_id: string }) => request_id)
    assert.equal(ids.length, EVENTS, 'one run for each event')
    const path = `/v1/agents/hello/triggers/${trigger.id}/deliveries?outcome=accepted&limit=100`
    const { data: deliveries } = await service.call('GET', path)
    const started = deliveries.map(({ request_id }: { request_id: string }) => request_id)
    assert.deepEqual(started.toSorted(), ids.toSorted())
  })
}
