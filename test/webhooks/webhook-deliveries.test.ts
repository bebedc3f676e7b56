import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { verifySignature } from '../../sdk/webhook.ts'
import { partsOf, storageOf, storeOf } from '../support/inside.ts'
import { until } from '../support/running/until.ts'
import { onAnyEngine, type Service } from '../support/service/service.ts'
import {
  type Arrival,
  createAgent,
  createWebhook,
  delivery,
  happen,
  LOCAL_RECEIVERS,
  listDeliveries,
  openInbox,
  pass,
} from '../support/slices/webhooks.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR

/** A receiver that answers these statuses in turn, the last one for ever. */
const answering =
  (...statuses: number[]) =>
  (_arrival: Arrival, _request: unknown, response: { statusCode: number }) => {
    response.statusCode = (statuses.length > 1 ? statuses.shift() : statuses[0]) as number
  }

const headersOf = ({ headers }: Arrival) => headers as Record<string, string>

/** Resolves when a later event has been through: whatever else was due has had its turn. */
async function othersServed(t: TestContext, service: Service): Promise<void> {
  const inbox = await openInbox(t)
  const { agent_id } = await subscribe(service, inbox.url)
  await happen(service, { agent_id })
  await inbox.first(1)
}

/** An agent with a webhook to a receiver of its own. */
async function subscribe(service: Service, url: string, fields = {}) {
  const agent_id = await createAgent(service)
  return { agent_id, ...(await createWebhook(service, { agent_id, url, ...fields })) }
}

/** Whether the standard header carries a signature under this secret, whatever the time. */
const verifies = ({ body: sent, headers }: Arrival, key: string) =>
  (headers['webhook-signature'] as string)
    .split(' ')
    .includes(
      new Webhook(key).sign(
        headers['webhook-id'] as string,
        new Date(Number(headers['webhook-timestamp']) * 1000),
        sent,
      ),
    )

const getWebhook = async (service: Service, id: string) => (await service.call('GET', `/v1/webhooks/${id}`)).body.data

onAnyEngine(
  'webhook deliveries',
  (service) => {
    describe('an event', () => {
      test('reaches the webhook that asked for it, signed', async (t) => {
        const inbox = await openInbox(t)
        const { agent_id, id, secret } = await subscribe(service(), inbox.url)
        await happen(service(), { agent_id, data: { request_id: 'req_7' } })
        const [arrival] = (await inbox.first(1)) as [Arrival]
        const {
          id: delivery_id,
          event_id,
          created_at,
          delivered_at,
          attempts,
          ...rest
        } = await delivery(service(), id, 1)
        const payload = {
          id: event_id,
          type: 'agent.completed',
          timestamp: created_at,
          agent_id,
          data: { request_id: 'req_7' },
        }
        assert.equal(arrival.body, JSON.stringify(payload))
        assert.match(delivery_id, /^dlv_[0-9A-Z]{26}$/)
        assert.match(event_id, /^evt_[0-9A-Z]{26}$/)
        assert.ok(delivered_at >= created_at)
        assert.deepEqual(rest, {
          webhook_id: id,
          event: 'agent.completed',
          status: 'delivered',
          attempt_count: 1,
          next_attempt_at: null,
        })
        const [{ at, duration_ms, ...attempt }] = attempts
        assert.ok(at >= created_at && duration_ms >= 0)
        assert.deepEqual(attempt, { attempt: 1, response_status: 200, error: null })

        const headers = headersOf(arrival)
        assert.equal(await verifySignature(arrival.body, headers['x-service-signature'] ?? '', secret), true)
        assert.deepEqual(new Webhook(secret).verify(arrival.body, headers), payload)
        assert.equal(headers['webhook-id'], event_id)
        assert.equal(headers['content-type'], 'application/json; charset=utf-8')
        assert.equal(headers['x-service-event'], 'agent.completed')
        assert.equal(headers['x-service-attempt'], '1')
      })

      test('is sent only to the webhooks that asked for it', async (t) => {
        const inbox = await openInbox(t)
        const [own, other] = [await createAgent(service()), await createAgent(service())]
        const at = (name: string) => `${inbox.url}${name}`
        await createWebhook(service(), { agent_id: own, url: at('named'), events: ['agent.failed', 'agent.completed'] })
        await createWebhook(service(), { agent_id: own, url: at('star'), events: ['*'] })
        await createWebhook(service(), { agent_id: own, url: at('otherEvent'), events: ['agent.failed'] })
        await createWebhook(service(), { agent_id: other, url: at('otherAgent'), events: ['*'] })
        const all = await createWebhook(service(), { url: at('all'), events: ['agent.completed'] })
        const off = await createWebhook(service(), { agent_id: own, url: at('off'), events: ['*'] })
        await service().call('PATCH', `/v1/webhooks/${off.id}`, { body: { status: 'disabled' } })

        await happen(service(), { agent_id: own })
        const arrivals = await inbox.first(3)
        assert.deepEqual(new Set(arrivals.map(({ headers }) => headers['webhook-id'])).size, 1)
        const db = storeOf(service())
        const rows = await db
          .selectFrom('deliveries')
          .innerJoin('webhooks', 'webhooks.id', 'deliveries.webhook_id')
          .select('webhooks.url')
          .where('event_id', '=', headersOf(arrivals[0] as Arrival)['webhook-id'] as string)
          .execute()
        assert.deepEqual(rows.map(({ url }) => url).toSorted(), [at('all'), at('named'), at('star')])
        await service().call('DELETE', `/v1/webhooks/${all.id}`)
      })

      test('costs nothing when no one wants it', async () => {
        const { now } = service()
        const { events } = partsOf(service())
        const agent_id = await createAgent(service())
        const event = {
          type: 'agent.failed',
          project_id: 'prj_default',
          agent_id,
          data: () => ({}),
          time: now(),
        } as const
        assert.deepEqual(await events.writes(event), [])
        // From now on without asking the database, unless its listener may have missed something.
        await until('it is remembered', async () => {
          const afterThisTurn = new Promise((resolve) => setImmediate(resolve, 'an answer of the database'))
          const first = await Promise.race([events.writes(event), afterThisTurn])
          return Array.isArray(first) && first.length === 0
        })
      })

      test('emitted in a transaction commits with it or not at all', async (t) => {
        const inbox = await openInbox(t)
        const { agent_id, id } = await subscribe(service(), inbox.url, { events: ['deployment.created'] })
        const storage = storageOf(service())
        const { now } = service()
        const { events } = partsOf(service())
        const emit = (data: object) => (db: typeof storage.db) =>
          events.emit(db, {
            type: 'deployment.created',
            project_id: 'prj_default',
            agent_id,
            data: () => data,
            time: now(),
          })
        await assert.rejects(
          storage.transaction(async (db) => {
            await emit({ n: 1 })(db)
            throw new Error('changed my mind')
          }),
          /changed my mind/,
        )
        await storage.transaction(emit({ n: 2 }))
        await delivery(service(), id, 1)
        assert.deepEqual(
          inbox.arrivals.map(({ body }) => JSON.parse(body).data),
          [{ n: 2 }],
        )
      })
    })

    describe('retries', () => {
      test('send the same bytes under the same id, freshly signed', async (t) => {
        const inbox = await openInbox(t, answering(500, 200))
        const { agent_id, id, secret } = await subscribe(service(), inbox.url)
        const data = { response: 'Grüße "😀" \u2028 \\n \u0000 \ud800', deep: [{ '': null }, 1e21, -0] }
        await happen(service(), { agent_id, data })
        const failed = await delivery(service(), id, 1)
        assert.equal(failed.status, 'pending')
        assert.equal((await getWebhook(service(), id)).failing_since, failed.attempts[0].at)
        pass(service(), 10_000)
        const [first, second] = (await inbox.first(2)) as [Arrival, Arrival]
        assert.equal(second.body, first.body)
        assert.deepEqual(JSON.parse(first.body).data, JSON.parse(JSON.stringify(data)))
        const [before, after] = [headersOf(first), headersOf(second)]
        assert.equal(after['webhook-id'], before['webhook-id'])
        assert.ok(Number(after['webhook-timestamp']) >= Number(before['webhook-timestamp']) + 10)
        assert.notEqual(after['webhook-signature'], before['webhook-signature'])
        assert.deepEqual([before['x-service-attempt'], after['x-service-attempt']], ['1', '2'])
        for (const { body, headers } of [first, second]) {
          assert.equal(await verifySignature(body, headers['x-service-signature'] as string, secret), true)
        }
        const done = await delivery(service(), id, 2)
        assert.deepEqual(
          done.attempts.map(({ attempt, response_status, error }: Record<string, unknown>) => [
            attempt,
            response_status,
            error,
          ]),
          [
            [1, 500, 'http_error'],
            [2, 200, null],
          ],
        )
        assert.equal((await getWebhook(service(), id)).failing_since, null)
      })

      test('come after 5 s, 5 m, 30 m, 2 h, 5 h, 10 h, 10 h, each ±20 %; then it has failed', async (t) => {
        const inbox = await openInbox(t, answering(500))
        const { agent_id, id } = await subscribe(service(), inbox.url)
        await happen(service(), { agent_id })
        const plan = [5_000, 300_000, 1_800_000, 2 * HOUR, 5 * HOUR, 10 * HOUR, 10 * HOUR]
        for (const [i, planned] of plan.entries()) {
          const { status, attempts, next_attempt_at } = await delivery(service(), id, i + 1)
          assert.equal(status, 'pending')
          const { at, duration_ms } = attempts[i]
          const wait = Date.parse(next_attempt_at) - Date.parse(at)
          assert.ok(wait >= planned * 0.8 && wait <= planned * 1.2 + duration_ms + 3_000, `${i + 1}: ${wait} ms`)
          pass(service(), Date.parse(next_attempt_at) - service().now())
        }
        const { status, next_attempt_at, delivered_at, attempts } = await delivery(service(), id, 8)
        assert.deepEqual([status, next_attempt_at, delivered_at, attempts.length], ['failed', null, null, 8])
        pass(service(), 20 * HOUR)
        await othersServed(t, service())
        assert.equal(inbox.arrivals.length, 8)
      })

      test('wait as long as Retry-After asks, in seconds or until a date, up to a day', async (t) => {
        const asked = ['3600', '1', '99999999', 'soon', '-5']
        const inbox = await openInbox(t, ({ body }, _request, response) => {
          const { n } = JSON.parse(body).data
          const date = new Date(Date.parse(JSON.parse(body).timestamp) + 2 * HOUR).toUTCString()
          response.writeHead(n === 5 ? 429 : 503, { 'Retry-After': asked[n] ?? date }).end()
        })
        const { agent_id, id } = await subscribe(service(), inbox.url)
        const waits = new Map<number, number>()
        for (const n of [0, 1, 2, 3, 4, 5]) await happen(service(), { agent_id, data: { n } })
        await until('six first attempts', async () => {
          for (const { id: delivery_id } of await listDeliveries(service(), id)) {
            const { data } = (await service().call('GET', `/v1/webhooks/${id}/deliveries/${delivery_id}`)).body
            if (data.attempt_count !== 1) continue
            waits.set(JSON.parse(data.body).data.n, Date.parse(data.next_attempt_at) - Date.parse(data.attempts[0].at))
          }
          return waits.size === 6
        })
        const between = (n: number, low: number, high: number) => {
          const wait = waits.get(n) ?? Number.NaN
          assert.ok(wait >= low && wait < high + 5_000, `${n}: ${wait}`)
        }
        between(0, HOUR, HOUR)
        for (const n of [1, 3, 4]) between(n, 4_000, 6_000)
        between(2, DAY, DAY)
        between(5, 2 * HOUR - 2_000, 2 * HOUR)
      })

      test('any 2xx is success, a redirect is not followed', async (t) => {
        const statuses = [201, 202, 204, 299, 301, 307, 400, 404]
        const inbox = await openInbox(t, ({ body }, request, response) => {
          assert.notEqual(request.url, '/elsewhere')
          response.writeHead(statuses[JSON.parse(body).data.n] ?? 500, { location: '/elsewhere' }).end()
        })
        const { agent_id, id } = await subscribe(service(), inbox.url)
        for (const n of statuses.keys()) await happen(service(), { agent_id, data: { n } })
        await until('all attempts', async () =>
          (await listDeliveries(service(), id)).every((d) => d.attempt_count >= 1),
        )
        const results = (await listDeliveries(service(), id)).map(({ status, attempts }) => [
          attempts[0].response_status,
          attempts[0].error,
          status,
        ])
        assert.deepEqual(
          results.toSorted(([a], [b]) => a - b),
          [
            [201, null, 'delivered'],
            [202, null, 'delivered'],
            [204, null, 'delivered'],
            [299, null, 'delivered'],
            [301, 'redirect', 'pending'],
            [307, 'redirect', 'pending'],
            [400, 'http_error', 'pending'],
            [404, 'http_error', 'pending'],
          ],
        )
      })
    })

    describe('giving up on a receiver', () => {
      test('410 disables the webhook at once and says so; what waits is sent when it is enabled again', async (t) => {
        const statuses = [500, 410, 200]
        const inbox = await openInbox(t, answering(...statuses))
        const others = await openInbox(t)
        const { agent_id, id } = await subscribe(service(), inbox.url, { events: ['*'] })
        await createWebhook(service(), { agent_id, url: others.url, events: ['webhook.disabled'] })
        const disabled = async () => {
          const told = async () =>
            /^moorage_webhooks_disabled (\d+)$/m.exec((await service().call('GET', '/metrics')).text)?.[1]
          return Number(await until('the number is told', told))
        }
        const before = await disabled()
        const unwanted = await createWebhook(service(), { agent_id, url: others.url, events: ['agent.failed'] })
        await service().call('PATCH', `/v1/webhooks/${unwanted.id}`, { body: { status: 'disabled' } })
        assert.equal(await disabled(), before, 'its owner has disabled it')
        await happen(service(), { agent_id, data: { n: 1 } })
        await delivery(service(), id, 1)
        await happen(service(), { agent_id, data: { n: 2 } })
        const [news] = (await others.first(1)) as [Arrival]
        assert.deepEqual(JSON.parse(news.body).data, { webhook_id: id, reason: 'gone' })
        assert.equal(JSON.parse(news.body).agent_id, agent_id)
        const { status, disabled_reason } = await getWebhook(service(), id)
        assert.deepEqual([status, disabled_reason], ['disabled', 'gone'])
        assert.equal(await disabled(), before + 1)

        pass(service(), HOUR)
        await happen(service(), { agent_id, data: { n: 3 } })
        await othersServed(t, service())
        const [second, first] = await listDeliveries(service(), id)
        assert.deepEqual([first.status, second.status, second.attempts[0].response_status], ['pending', 'failed', 410])
        assert.equal((await service().call('POST', `/v1/webhooks/${id}/deliveries/${second.id}/redeliver`)).status, 409)
        assert.equal(inbox.arrivals.length, 2)

        await service().call('PATCH', `/v1/webhooks/${id}`, { body: { status: 'enabled' } })
        const [, , third] = (await inbox.first(3)) as [Arrival, Arrival, Arrival]
        assert.equal(JSON.parse(third.body).data.n, 1)
        await until('it to be delivered', async () => (await listDeliveries(service(), id))[1].status === 'delivered')
        assert.equal(inbox.arrivals.length, 3)
      })

      test('5 days of nothing but failure disable it, not a day less and not with a success between', async (t) => {
        let answer = 500
        const inbox = await openInbox(t, (_arrival, _request, response) => response.writeHead(answer).end())
        const { agent_id, id } = await subscribe(service(), inbox.url)
        let events = 0
        const fail = async () => {
          await happen(service(), { agent_id })
          events++
          await until('an attempt of the newest', async () => {
            const [newest, ...rest] = await listDeliveries(service(), id)
            return rest.length === events - 1 && newest.attempt_count >= 1
          })
        }
        await fail()
        pass(service(), 4.9 * DAY)
        await fail()
        assert.equal((await getWebhook(service(), id)).status, 'enabled')
        answer = 200
        await fail()
        answer = 500
        await fail()
        pass(service(), 4.9 * DAY)
        await fail()
        const still = await getWebhook(service(), id)
        assert.equal(still.status, 'enabled')
        pass(service(), 0.2 * DAY)
        await until('it to be disabled', async () => (await getWebhook(service(), id)).status === 'disabled')
        assert.equal((await getWebhook(service(), id)).disabled_reason, 'failing')
        const sent = inbox.arrivals.length
        pass(service(), 5 * DAY)
        await happen(service(), { agent_id })
        await othersServed(t, service())
        assert.equal(inbox.arrivals.length, sent)

        const { body } = await service().call('PATCH', `/v1/webhooks/${id}`, { body: { status: 'enabled' } })
        assert.deepEqual([body.data.status, body.data.failing_since], ['enabled', null])
      })
    })

    describe('POST …/deliveries/{delivery_id}/redeliver', () => {
      test('sends the same event again, delivered or not, with a schedule of its own', async (t) => {
        const inbox = await openInbox(t, answering(200, 500, 200))
        const { agent_id, id } = await subscribe(service(), inbox.url)
        await happen(service(), { agent_id })
        const first = await delivery(service(), id, 1)
        const again = await service().call('POST', `/v1/webhooks/${id}/deliveries/${first.id}/redeliver`)
        assert.equal(again.status, 200)
        assert.deepEqual({ ...again.body.data, next_attempt_at: null }, { ...first, status: 'pending' })
        const failed = await delivery(service(), id, 2)
        assert.deepEqual([failed.status, failed.delivered_at], ['pending', first.delivered_at])
        const { at, duration_ms } = failed.attempts[1]
        assert.ok(Date.parse(failed.next_attempt_at) - Date.parse(at) < 6_000 + duration_ms + 3_000)
        pass(service(), Date.parse(failed.next_attempt_at) - service().now())
        const done = await delivery(service(), id, 3)
        assert.equal(done.status, 'delivered')
        assert.ok(done.delivered_at > first.delivered_at)
        const [one, two, three] = (await inbox.first(3)) as [Arrival, Arrival, Arrival]
        assert.deepEqual([two.body, three.body], [one.body, one.body])
        assert.equal(headersOf(three)['x-service-attempt'], '3')
      })

      test('409 while it is being sent; 404 for a delivery of another webhook', async (t) => {
        const release = Promise.withResolvers<void>()
        const inbox = await openInbox(t, () => release.promise)
        const { agent_id, id } = await subscribe(service(), inbox.url)
        const other = await createWebhook(service(), { url: inbox.url })
        await happen(service(), { agent_id })
        // Both webhooks are told, in no order.
        await inbox.first(2)
        const [sending] = await listDeliveries(service(), id)
        assert.deepEqual([sending.status, sending.next_attempt_at], ['pending', null])
        const path = (webhook_id: string) => `/v1/webhooks/${webhook_id}/deliveries/${sending.id}`
        const { status, body } = await service().call('POST', `${path(id)}/redeliver`)
        assert.deepEqual([status, body.error.code], [409, 'conflict'])
        assert.equal((await service().call('POST', `${path(other.id)}/redeliver`)).status, 404)
        assert.equal((await service().call('GET', path(other.id))).status, 404)
        release.resolve()
        await delivery(service(), id, 1)
        await service().call('DELETE', `/v1/webhooks/${other.id}`)
      })
    })

    test('GET …/deliveries filters by status and event and pages; GET …/{delivery_id} shows the body', async (t) => {
      const inbox = await openInbox(t, ({ headers }, _request, response) => {
        response.statusCode = headers['x-service-event'] === 'agent.failed' ? 500 : 200
      })
      const { agent_id, id } = await subscribe(service(), inbox.url, { events: ['*'] })
      for (const type of ['agent.completed', 'agent.failed', 'agent.cancelled'] as const) {
        await happen(service(), { agent_id, type })
        service().advance(1)
      }
      await until('three attempts', async () =>
        (await listDeliveries(service(), id)).every((d) => d.attempt_count >= 1),
      )
      const events = async (query: string) => (await listDeliveries(service(), id, query)).map(({ event }) => event)
      assert.deepEqual(await events(''), ['agent.cancelled', 'agent.failed', 'agent.completed'])
      assert.deepEqual(await events('?sort=created_at&limit=1&offset=1'), ['agent.failed'])
      assert.deepEqual(await events('?status=pending'), ['agent.failed'])
      assert.deepEqual(await events('?status=delivered&event=agent.completed'), ['agent.completed'])
      assert.deepEqual(await events('?status=failed'), [])
      for (const query of ['?status=lost', '?event=nothing', '?sort=attempts']) {
        assert.equal((await service().call('GET', `/v1/webhooks/${id}/deliveries${query}`)).status, 400, query)
      }
      const [failed] = await listDeliveries(service(), id, '?status=pending')
      const { body } = await service().call('GET', `/v1/webhooks/${id}/deliveries/${failed.id}`)
      const sent = inbox.arrivals.find(({ headers }) => headers['webhook-id'] === failed.event_id)
      assert.deepEqual(body.data, { ...failed, body: sent?.body })
    })

    test('two rotations: each old secret verifies until its own grace ends', async (t) => {
      const inbox = await openInbox(t)
      const { agent_id, id, secret: first } = await subscribe(service(), inbox.url)
      const rotate = async (grace_period_seconds: number) => {
        const options = { body: { grace_period_seconds } }
        const { body } = await service().call('POST', `/v1/webhooks/${id}/rotate-secret`, options)
        return body.data as { secret: string; previous_secret_expires_at: string }
      }
      const second = await rotate(7_200)
      const third = await rotate(3_600)
      assert.equal(third.previous_secret_expires_at, second.previous_secret_expires_at, 'when the last one ends')
      const secrets = [first, second.secret, third.secret]
      const verifiedBy = async (count: number) => {
        await happen(service(), { agent_id })
        const arrived = (await inbox.first(count)).at(-1) as Arrival
        await delivery(service(), id, 1)
        return secrets.map((secret) => verifies(arrived, secret))
      }
      assert.deepEqual(await verifiedBy(1), [true, true, true])
      pass(service(), 3_601_000)
      assert.deepEqual(await verifiedBy(2), [true, false, true])
    })

    test('rotation: the old secret verifies inside the grace, not after', async (t) => {
      const inbox = await openInbox(t)
      const { agent_id, id, secret: old } = await subscribe(service(), inbox.url)
      const { body } = await service().call('POST', `/v1/webhooks/${id}/rotate-secret`, {
        body: { grace_period_seconds: 3600 },
      })
      const { secret, secret_hint, previous_secret_expires_at } = body.data
      assert.notEqual(secret, old)
      assert.equal(secret_hint, `whsec_…${secret.slice(-5)}`)
      await happen(service(), { agent_id })
      const [inside] = (await inbox.first(1)) as [Arrival]
      // Until that is written down, it would be sent again once its lease has ended.
      await delivery(service(), id, 1)
      assert.deepEqual([verifies(inside, secret), verifies(inside, old)], [true, true])
      assert.equal(await verifySignature(inside.body, headersOf(inside)['x-service-signature'] as string, secret), true)

      pass(service(), Date.parse(previous_secret_expires_at) - service().now() + 1)
      await happen(service(), { agent_id })
      const [, outside] = (await inbox.first(2)) as [Arrival, Arrival]
      assert.deepEqual([verifies(outside, secret), verifies(outside, old)], [true, false])
      assert.equal((await getWebhook(service(), id)).previous_secret_expires_at, null)

      const at_once = await service().call('POST', `/v1/webhooks/${id}/rotate-secret`, {
        body: { grace_period_seconds: 0 },
      })
      assert.equal(at_once.body.data.previous_secret_expires_at, null)
      await happen(service(), { agent_id })
      const [, , last] = (await inbox.first(3)) as [Arrival, Arrival, Arrival]
      assert.deepEqual([verifies(last, at_once.body.data.secret), verifies(last, secret)], [true, false])
      for (const grace_period_seconds of [-1, 604_801, 1.5, '60', null]) {
        const reply = await service().call('POST', `/v1/webhooks/${id}/rotate-secret`, {
          body: { grace_period_seconds },
        })
        assert.equal(reply.status, 400, reply.text)
      }
    })
  },
  LOCAL_RECEIVERS,
)
