import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { Webhook } from 'standardwebhooks'
import { isGenuine } from '../../examples/webhook-receiver/verify.ts'
import { verifySignature, verifyWebhook } from '../../sdk/webhook.ts'
import { startLocalServer } from '../support/outside/local-server.ts'
import { PATIENCE } from '../support/running/patience.ts'
import { until, untilCounted } from '../support/running/until.ts'
import { onEveryEngine, type Service } from '../support/service/service.ts'
import {
  type Arrival,
  createAgent,
  createWebhook,
  happen,
  LOCAL_RECEIVERS,
  openInbox,
  pass,
} from '../support/slices/webhooks.ts'

const DAY = 24 * 3_600_000

const getWebhook = async (service: Service, id: string) => (await service.call('GET', `/v1/webhooks/${id}`)).body.data

const countOf = async (service: Service, id: string, status: string) => {
  const { body } = await service.call('GET', `/v1/webhooks/${id}/deliveries?status=${status}&limit=1`)
  return body.pagination.total as number
}

/** Invokes the agent so many times, some at once; the ids of the requests. */
async function invoke(service: Service, agent_id: string, count: number): Promise<string[]> {
  const request_ids: string[] = []
  const one = async () => {
    const { body, text } = await service.call('POST', `/v1/agents/${agent_id}/invoke`, { body: { message: 'Ahoy' } })
    assert.ok(body.success, text)
    request_ids.push(body.data.request_id)
  }
  while (request_ids.length < count) {
    await Promise.all(Array.from({ length: Math.min(50, count - request_ids.length) }, one))
  }
  return request_ids
}

/** Few enough at once that each finds a connection in time, also on a slow machine. */
async function happenMany(service: Service, agent_id: string, count: number): Promise<void> {
  const batch = 100
  for (let n = 0; n < count; n += batch) {
    const some = Array.from({ length: Math.min(batch, count - n) }, (_, i) => ({ agent_id, data: { n: n + i } }))
    await Promise.all(some.map((event) => happen(service, event)))
  }
}

onEveryEngine(
  'webhooks under load',
  (service) => {
    test('300 invokes while the receiver fails for a while: each arrives, signed, and none of another agent', async (t) => {
      let refused = 0
      const taken = new Map<string, Arrival>()
      const inbox = await openInbox(t, (arrival, _request, response) => {
        if (refused < 50 && arrival.headers['x-service-attempt'] === '1') {
          refused++
          response.statusCode = 500
        } else taken.set(arrival.headers['webhook-id'] as string, arrival)
      })
      const [own, other] = [await createAgent(service()), await createAgent(service())]
      const { id, secret } = await createWebhook(service(), { agent_id: own, url: inbox.url })
      const [request_ids] = await Promise.all([invoke(service(), own, 300), invoke(service(), other, 50)])
      await untilCounted('events that were tried and taken', 250, () => taken.size)
      await until('failures to be settled', async () => (await countOf(service(), id, 'pending')) <= 50)
      pass(service(), 6_100)
      await untilCounted('events that arrived', 300, () => taken.size)
      await untilCounted('events that are settled', 300, () => countOf(service(), id, 'delivered'))
      assert.equal(refused, 50)
      const arrived = [...taken.values()].map(({ body }) => JSON.parse(body).data.request_id)
      assert.deepEqual(arrived.toSorted(), request_ids.toSorted())

      const outside = new Webhook(secret)
      for (const { body, headers } of inbox.arrivals) {
        assert.equal(JSON.parse(body).agent_id, own)
        // The clock of the service runs ahead, and this package knows only the real one: sign as it would.
        const at = new Date(Number(headers['webhook-timestamp']) * 1000)
        assert.equal(headers['webhook-signature'], outside.sign(headers['webhook-id'] as string, at, body))
        assert.equal(isGenuine(headers, Buffer.from(body), [secret], at.getTime()), true)
        await verifyWebhook({ body, headers, secret, now: () => at.getTime() })
        assert.equal(await verifySignature(body, headers['x-service-signature'] as string, secret), true)
      }
    })

    test('4,000 events to a dead endpoint delay no one else, take no memory, and end after five days', async (t) => {
      const inbox = await openInbox(t)
      const [doomed, healthy] = [await createAgent(service()), await createAgent(service())]
      const dead = await createWebhook(service(), { agent_id: doomed, url: await deadUrl() })
      await createWebhook(service(), { agent_id: healthy, url: inbox.url })
      await happen(service(), { agent_id: healthy })
      await inbox.first(1)
      const before = usedMemory()
      await happenMany(service(), doomed, 4_000)

      const waits: number[] = []
      for (let n = 2; n <= 31; n++) {
        const started = performance.now()
        await happen(service(), { agent_id: healthy })
        await inbox.first(n)
        waits.push(performance.now() - started)
      }
      const inOrder = waits.toSorted((a, b) => a - b)
      const [median, most] = [inOrder[15] as number, inOrder[25] as number]
      t.diagnostic(`median ${Math.round(median)} ms, ninth part longer than ${Math.round(most)} ms`)
      // A few may be delayed by the machine. Behind the queue of the dead endpoint all of them would wait for minutes.
      assert.ok(median < 500 * PATIENCE, `${median} ms`)
      assert.ok(most < 2_000 * PATIENCE, `${most} ms`)

      const grown = usedMemory() - before
      t.diagnostic(`${Math.round(grown / 1024)} KiB more in use`)
      assert.ok(grown < 2 * 1024 * 1024, `${grown} bytes`)

      // A dead receiver is not retried forever: its queue ends after five days.
      await until('a first failure', async () => (await getWebhook(service(), dead.id)).failing_since)
      pass(service(), 5 * DAY)
      await until('it to be disabled', async () => (await getWebhook(service(), dead.id)).status === 'disabled')
      const pending = await countOf(service(), dead.id, 'pending')
      assert.ok(pending > 3_000, `${pending}`)
    })
  },
  LOCAL_RECEIVERS,
)

/** What is really held, garbage left out. */
function usedMemory(): number {
  setFlagsFromString('--expose_gc')
  const collect: () => void = runInNewContext('gc')
  collect()
  return process.memoryUsage().heapUsed
}

/** Where nobody listens. */
async function deadUrl(): Promise<string> {
  const { url, close } = await startLocalServer(() => {})
  await close()
  return url
}
