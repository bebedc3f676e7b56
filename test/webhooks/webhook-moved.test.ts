import assert from 'node:assert/strict'
import { test } from 'node:test'
import { until } from '../support/running/until.ts'
import { onAnyEngine } from '../support/service/service.ts'
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

onAnyEngine(
  'a webhook whose address is changed while it is sent something',
  (service) => {
    const stateOf = async (id: string) => {
      const { status, disabled_reason, failing_since } = (await service().call('GET', `/v1/webhooks/${id}`)).body.data
      return { status, disabled_reason, failing_since }
    }
    const WELL = { status: 'enabled', disabled_reason: null, failing_since: null }

    for (const answer of [410, 503]) {
      test(`${answer} of the old address says nothing about the new one, where the delivery is tried again`, async (t) => {
        const moved = Promise.withResolvers<void>()
        const old = await openInbox(t, async (_arrival, _request, response) => {
          await moved.promise
          response.writeHead(answer, { 'Retry-After': '86400' })
        })
        const fresh = await openInbox(t)
        const agent_id = await createAgent(service())
        const { id } = await createWebhook(service(), { agent_id, url: old.url })
        await happen(service(), { agent_id })
        await old.first(1)
        const { status, text } = await service().call('PATCH', `/v1/webhooks/${id}`, { body: { url: fresh.url } })
        assert.equal(status, 200, text)
        moved.resolve()

        const tried = await delivery(service(), id, 1)
        assert.deepEqual([tried.status, tried.attempts[0].response_status], ['pending', answer])
        assert.deepEqual(await stateOf(id), WELL)
        pass(service(), 10_000)
        await fresh.first(1)
        await until('it to be delivered', async () => (await listDeliveries(service(), id))[0].status === 'delivered')
        assert.equal((await delivery(service(), id, 2)).attempts.length, 2)
        assert.deepEqual(await stateOf(id), WELL)
        assert.equal(old.arrivals.length, 1)
      })
    }

    test('what the old address accepts late does not make up for failures of the new one', async (t) => {
      const accepted = Promise.withResolvers<void>()
      const old = await openInbox(t, () => accepted.promise)
      const fresh = await openInbox(t, (_arrival, _request, response) => response.writeHead(500))
      const agent_id = await createAgent(service())
      const { id } = await createWebhook(service(), { agent_id, url: old.url })
      await happen(service(), { agent_id, data: { n: 1 } })
      await old.first(1)
      await service().call('PATCH', `/v1/webhooks/${id}`, { body: { url: fresh.url } })
      await happen(service(), { agent_id, data: { n: 2 } })
      await until('the new one fails', async () => (await stateOf(id)).failing_since !== null)
      const failing = await stateOf(id)
      accepted.resolve()
      await until('the old one has it', async () => (await listDeliveries(service(), id))[1].status === 'delivered')
      assert.deepEqual(await stateOf(id), failing)
    })
  },
  LOCAL_RECEIVERS,
)
