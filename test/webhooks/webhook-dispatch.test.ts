import assert from 'node:assert/strict'
import { before, describe, type TestContext, test } from 'node:test'
import * as deliveries from '../../src/webhooks/delivery/delivery-store.ts'
import { partsOf, storageOf, storeOf } from '../support/inside.ts'
import { until } from '../support/running/until.ts'
import { ANY_ENGINE, onAnyEngine, type Service, startService } from '../support/service/service.ts'
import {
  createAgent,
  createWebhook,
  delivery,
  happen,
  LOCAL_RECEIVERS,
  listDeliveries,
  openInbox,
  pass,
} from '../support/slices/webhooks.ts'
import { startPostgres } from '../support/stores/postgres.ts'
import { refuse } from '../support/stores/unwilling-store.ts'

/** A receiver that holds every delivery back until it is released, and counts how many are in progress. */
async function openGate(t: TestContext) {
  const held: (() => void)[] = []
  let most = 0
  const inbox = await openInbox(t, async () => {
    await new Promise<void>((resolve) => {
      held.push(resolve)
      most = Math.max(most, held.length)
    })
  })
  return {
    ...inbox,
    held: (count: number) => until(`${count} deliveries under way`, () => held.length === count),
    release: (count: number) => {
      for (const resolve of held.splice(0, count)) resolve()
    },
    most: () => most,
  }
}

const countPending = async (service: Service, webhook_id: string) => {
  const { body } = await service.call('GET', `/v1/webhooks/${webhook_id}/deliveries?status=pending&limit=1`)
  return body.pagination.total
}

const events = (agent_id: string, count: number) => Array.from({ length: count }, (_, n) => ({ agent_id, data: { n } }))

onAnyEngine(
  'the dispatcher',
  (service) => {
    before(() => service().holdClock())

    test('sends at most 5 at a time to one receiver', async (t) => {
      const gate = await openGate(t)
      const agent_id = await createAgent(service())
      const { id } = await createWebhook(service(), { agent_id, url: gate.url })
      await happen(service(), ...events(agent_id, 12))
      await gate.held(5)
      gate.release(2)
      await gate.held(5)
      for (let left = 5; left > 0; left--) {
        gate.release(1)
        await gate.held(Math.min(5, left))
      }
      while ((await countPending(service(), id)) > 0) gate.release(5)
      assert.equal(gate.most(), 5)
      assert.equal(gate.arrivals.length, 12)
    })

    test('and at most a fixed number in total; every webhook gets a turn', async (t) => {
      const gate = await openGate(t)
      const ids: string[] = []
      for (let n = 0; n < 4; n++) {
        const agent_id = await createAgent(service())
        ids.push((await createWebhook(service(), { agent_id, url: `${gate.url}${n}` })).id)
        await happen(service(), ...events(agent_id, 6))
      }
      await gate.held(12)
      gate.release(1)
      // Three have had places; the next one to come free is for the fourth.
      await until('the fourth to get a place', () => gate.arrivals.length === 13)
      assert.equal(gate.arrivals[12]?.path, '/3')
      for (const id of ids) {
        await until('the rest', async () => {
          gate.release(12)
          return (await countPending(service(), id)) === 0
        })
      }
      assert.equal(gate.arrivals.length, 24)
      assert.equal(gate.most(), 12)
    })

    test('a receiver that fails gets one at a time until it recovers', async (t) => {
      let broken = true
      let under_way = 0
      let most = 0
      const inbox = await openInbox(t, async (_arrival, _request, response) => {
        most = Math.max(most, ++under_way)
        await new Promise((resolve) => setImmediate(resolve))
        under_way--
        response.writeHead(broken ? 500 : 200).end()
      })
      const agent_id = await createAgent(service())
      const { id } = await createWebhook(service(), { agent_id, url: inbox.url })
      await happen(service(), { agent_id })
      await delivery(service(), id, 1)
      most = 0
      await happen(service(), ...events(agent_id, 20))
      await until('all to be tried', async () => {
        const tried = await listDeliveries(service(), id, '?limit=100')
        return tried.every(({ attempt_count }) => attempt_count >= 1)
      })
      assert.equal(most, 1)
      broken = false
      pass(service(), 10_000)
      await until('all to be delivered', async () => (await countPending(service(), id)) === 0)
      assert.ok(most <= 5)
    })

    test('receivers that fail one time in five do not delay others', async (t) => {
      const held: (() => void)[] = []
      let isOver = false
      let mostAtOnce = 0
      /** The first attempt fails at once, and then every fifth never ends. */
      const openFlaky = async () => {
        let [count, atOnce] = [0, 0]
        return openInbox(t, async (_arrival, _request, response) => {
          mostAtOnce = Math.max(mostAtOnce, ++atOnce)
          response.once('close', () => atOnce--)
          const n = count++
          if (n === 0) response.writeHead(500).end()
          else if (n % 5 === 0 && !isOver) await new Promise<void>((resolve) => held.push(resolve))
        })
      }
      const flaky: { inbox: Awaited<ReturnType<typeof openInbox>>; agent_id: string }[] = []
      for (let i = 0; i < 4; i++) {
        const [inbox, agent_id] = [await openFlaky(), await createAgent(service())]
        const { id } = await createWebhook(service(), { agent_id, url: inbox.url })
        await happen(service(), { agent_id })
        await delivery(service(), id, 1)
        flaky.push({ inbox, agent_id })
      }
      for (const { agent_id } of flaky) await happen(service(), ...events(agent_id, 30))
      for (const { inbox } of flaky) await inbox.first(6)

      const well = await openInbox(t)
      const agent_id = await createAgent(service())
      await createWebhook(service(), { agent_id, url: well.url })
      for (let i = 1; i <= 10; i++) {
        await happen(service(), { agent_id })
        await well.first(i)
      }
      assert.equal(mostAtOnce, 1, 'each of them has one place, in which its last attempt hangs')
      isOver = true
      for (const resolve of held) resolve()
    })

    test('a delivery whose lease ended is sent again, and the late answer does not count', async (t) => {
      const answers: ((status: number) => void)[] = []
      const inbox = await openInbox(t, async (_arrival, _request, response) => {
        response.statusCode = await new Promise<number>((resolve) => answers.push(resolve))
      })
      const agent_id = await createAgent(service())
      const { id } = await createWebhook(service(), { agent_id, url: inbox.url })
      await happen(service(), { agent_id })
      await inbox.first(1)
      pass(service(), 60_000)
      const [first, second] = await inbox.first(2)
      assert.equal(first?.headers['webhook-id'], second?.headers['webhook-id'])
      answers[1]?.(200)
      const settled = await delivery(service(), id, 1)
      assert.equal(settled.status, 'delivered')

      answers[0]?.(500)
      // What the late answer leaves is written down before, or with, what comes of the next event.
      await happen(service(), { agent_id, data: { next: true } })
      await inbox.first(3)
      answers[2]?.(200)
      await until('the next is settled', async () => (await countPending(service(), id)) === 0)
      const all = await listDeliveries(service(), id)
      assert.deepEqual(
        all.find((other) => other.id === settled.id),
        settled,
      )
      const { body } = await service().call('GET', `/v1/webhooks/${id}`)
      assert.equal(body.data.failing_since, null)
    })

    test('a delivery whose result the store did not take at first is not sent again', async (t) => {
      const gate = await openGate(t)
      const agent_id = await createAgent(service())
      const { id } = await createWebhook(service(), { agent_id, url: gate.url })
      await happen(service(), { agent_id })
      await gate.held(1)
      const takeAgain = await refuse(service(), 'the success of a delivery')
      gate.release(1)
      await until('the result is refused', () => /the disk is full.*could not store or fetch/.test(service().log()))
      await takeAgain()
      pass(service(), 1_000)
      assert.equal((await delivery(service(), id, 1)).status, 'delivered')
      assert.equal(gate.arrivals.length, 1)
    })

    test('a late answer never overwrites anything', async (t) => {
      const answers: ((status: number) => void)[] = []
      const inbox = await openInbox(t, async (_arrival, _request, response) => {
        const status = await new Promise<number>((resolve) => answers.push(resolve))
        response.writeHead(status).end()
      })
      const agent_id = await createAgent(service())
      const { id } = await createWebhook(service(), { agent_id, url: inbox.url })
      const answer = async (n: number, status: number) => {
        await until(`arrival ${n + 1}`, () => answers.length > n)
        answers[n]?.(status)
      }
      await happen(service(), { agent_id })
      await until('the first attempt', () => answers.length === 1)
      pass(service(), 60_000)
      await answer(1, 200)
      const delivered = await delivery(service(), id, 1)
      await answer(0, 500)
      // Reports of a receiver are written in order: once the next is written, the late one was too.
      await happen(service(), { agent_id })
      await answer(2, 200)
      await until('the next to be delivered', async () => (await countPending(service(), id)) === 0)
      const now = (await listDeliveries(service(), id)).find((each) => each.id === delivered.id)
      assert.deepEqual(now, delivered)
      assert.equal(delivered.status, 'delivered')
      const webhook = await service().call('GET', `/v1/webhooks/${id}`)
      assert.equal(webhook.body.data.status, 'enabled')
    })

    test('deleting a webhook, or its agent, removes deliveries and events; others keep theirs', async (t) => {
      const inbox = await openInbox(t)
      const [agent_id, doomed] = [await createAgent(service()), await createAgent(service())]
      const kept = await createWebhook(service(), { agent_id, url: inbox.url })
      const deleted = await createWebhook(service(), { agent_id, url: inbox.url })
      const ofAgent = await createWebhook(service(), { agent_id: doomed, url: inbox.url })
      await happen(service(), { agent_id }, { agent_id: doomed }, { agent_id: doomed })
      await inbox.first(4)
      // What is just being written down is left to the next sweep, an hour later.
      for (const { id } of [kept, deleted, ofAgent]) {
        await until('it is written down', async () => (await countPending(service(), id)) === 0)
      }
      await service().call('DELETE', `/v1/webhooks/${deleted.id}`)
      await service().call('DELETE', `/v1/agents/${doomed}`)

      const db = storeOf(service())
      const left = async () => {
        const rows = await db.selectFrom('deliveries').select('webhook_id').execute()
        return [kept, deleted, ofAgent].map(({ id }) => rows.filter(({ webhook_id }) => webhook_id === id).length)
      }
      await until('them to be gone', async () => (await left()).join() === '1,0,0')
      const bodies = await db.selectFrom('events').select(['id', 'body']).execute()
      assert.ok(bodies.some(({ body }) => body.includes(agent_id)))
      assert.ok(!bodies.some(({ body }) => body.includes(doomed)))
    })

    test('what a webhook still in memory receives after it was deleted is swept up too', async (t) => {
      const inbox = await openInbox(t)
      const agent_id = await createAgent(service())
      const { id } = await createWebhook(service(), { agent_id, url: inbox.url })
      const storage = storageOf(service())
      const { now } = service()
      const { events: outbox, journal } = partsOf(service())
      const writes = await outbox.writes({
        type: 'agent.completed',
        project_id: 'prj_default',
        agent_id,
        data: () => ({}),
        time: now(),
      })
      await service().call('DELETE', `/v1/webhooks/${id}`)
      assert.equal(await journal.commit({ writes }), true)
      outbox.wake()
      // A delivery that the dispatcher is just looking at is swept the next time.
      await until('it is swept', async () => {
        await deliveries.removeOrphans(storage.db, 100)
        const rows = await storage.db.selectFrom('deliveries').select('id').where('webhook_id', '=', id).execute()
        return rows.length === 0
      })
      assert.deepEqual(inbox.arrivals, [])
    })

    test('removeOlder takes the oldest first, as many as it may, and only what is older', async (t) => {
      const inbox = await openInbox(t)
      const agent_id = await createAgent(service())
      const { id } = await createWebhook(service(), { agent_id, url: inbox.url })
      const storage = storageOf(service())
      const { now } = service()
      // A delivery of another test that the dispatcher is just looking at is left by one call and taken by the next.
      await until('those of other tests are gone', async () => {
        await deliveries.removeOlder(storage.db, now() + 1, 100)
        return (await storage.db.selectFrom('deliveries').select('id').execute()).length === 0
      })
      await happen(service(), ...events(agent_id, 3))
      await until('all delivered', async () => (await countPending(service(), id)) === 0)
      service().advance(1_000)
      const since = now()
      await happen(service(), { agent_id, data: { n: 3 } })
      await inbox.first(4)

      assert.equal(await deliveries.removeOlder(storage.db, since, 2), 2)
      assert.equal(await deliveries.removeOlder(storage.db, since, 2), 1)
      assert.equal(await deliveries.removeOlder(storage.db, since, 2), 0)
      assert.equal((await listDeliveries(service(), id)).length, 1)
      const bodies = await storage.db.selectFrom('events').select('body').execute()
      assert.deepEqual(
        bodies.map(({ body }) => JSON.parse(body).data),
        [{ n: 3 }],
      )
    })
  },
  { ...LOCAL_RECEIVERS, MOORAGE_WEBHOOKS__MAX_IN_FLIGHT: '12' },
)

for (const engine of ANY_ENGINE) {
  describe(`the dispatcher on ${engine}, stopped`, () => {
    test('waits for what is in progress, gives back what takes too long, and continues after the start', async (t) => {
      const service = await startService(engine, { ...LOCAL_RECEIVERS, MOORAGE_SERVER__DRAIN_TIMEOUT: '2s' })
      t.after(() => service.stop())
      const quick = await openGate(t)
      const slow = await openGate(t)
      const agent_id = await createAgent(service)
      const hooks = [
        await createWebhook(service, { agent_id, url: quick.url }),
        await createWebhook(service, { agent_id, url: slow.url }),
      ] as const
      await happen(service, { agent_id })
      await quick.held(1)
      await slow.held(1)
      const restarted = service.restart()
      quick.release(1)
      await restarted
      await slow.held(2)
      slow.release(2)
      const [one, two] = await Promise.all(hooks.map(({ id }) => delivery(service, id, 1)))
      assert.deepEqual([one.status, two.status], ['delivered', 'delivered'])
      assert.equal(quick.arrivals.length, 1)
      assert.equal(slow.arrivals.length, 2)
      assert.equal(slow.arrivals[1]?.headers['webhook-id'], slow.arrivals[0]?.headers['webhook-id'])
    })
  })
}

describe('the dispatchers of two nodes on postgres', () => {
  test('share the work: each delivery once, 5 at a time per receiver on both together', async (t) => {
    const one = await startService('postgres', LOCAL_RECEIVERS)
    t.after(() => one.stop())
    const two = await one.beside()
    const nodes = [one, two] as const
    try {
      let under_way = 0
      let most = 0
      const inbox = await openInbox(t, async () => {
        most = Math.max(most, ++under_way)
        await new Promise((resolve) => setTimeout(resolve, 2))
        under_way--
      })
      const agent_id = await createAgent(one)
      const { id } = await createWebhook(one, { agent_id, url: inbox.url })
      await until('both nodes to know', async () => {
        const event = {
          type: 'agent.completed',
          project_id: 'prj_default',
          agent_id,
          data: () => ({}),
          time: 0,
        } as const
        return (await partsOf(two).events.writes(event)).length > 0
      })
      await Promise.all(nodes.map((node) => happen(node, ...events(agent_id, 100))))
      await until('all to be delivered', async () => (await countPending(one, id)) === 0)
      assert.equal(new Set(inbox.arrivals.map(({ headers }) => headers['webhook-id'])).size, 200)
      assert.equal(inbox.arrivals.length, 200)
      assert.ok(most <= 5, `${most} at once`)
    } finally {
      await two.stop()
    }
  })
})

describe('the dispatcher on postgres, without its database for a while', () => {
  test('settles what was in progress, and continues by itself', async (t) => {
    const postgres = await startPostgres()
    t.after(() => postgres.close())
    const service = await startService('postgres', { ...LOCAL_RECEIVERS, DATABASE_URL: postgres.url })
    t.after(() => service.stop())
    service.holdClock()
    const isUp = async () => (await service.call('GET', '/v1/agents')).status === 200
    const gate = await openGate(t)
    const agent_id = await createAgent(service)
    const { id } = await createWebhook(service, { agent_id, url: gate.url })
    await happen(service, { agent_id })
    await gate.held(1)
    await postgres.stop()
    await until('it is missed', async () => !(await isUp()))
    await postgres.start()
    await until('it is back', isUp)
    gate.release(1)
    assert.equal((await delivery(service, id, 1)).status, 'delivered')
    await happen(service, { agent_id })
    await gate.held(1)
    gate.release(1)
    await until('the next is settled', async () => (await countPending(service, id)) === 0)
    assert.equal(gate.arrivals.length, 2)
  })
})
