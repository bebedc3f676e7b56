import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import type { Database } from '../../src/storage/database.ts'
import { until } from '../support/running/until.ts'
import { startChildService } from '../support/service/child-service.ts'
import { ANY_ENGINE } from '../support/service/service.ts'
import { LOCAL_RECEIVERS, openInbox } from '../support/slices/webhooks.ts'
import { endOtherConnections } from '../support/stores/other-connections.ts'

const SETTINGS = { ...LOCAL_RECEIVERS, MOORAGE_WEBHOOKS__MAX_PER_ENDPOINT: '1' }

/** The lease of the dead process expires. On SQLite, its successor knows that it is dead. */
async function endLeases(db: Database): Promise<void> {
  await endOtherConnections(db)
  await db.updateTable('deliveries').set({ next_attempt_at: 0 }).where('owner', 'is not', null).execute()
}

for (const engine of ANY_ENGINE) {
  describe(`kill -9 on ${engine}`, () => {
    test('during a delivery: sent again under the same id; before a delivery: sent after the restart', async (t) => {
      const service = await startChildService(t, engine, SETTINGS)
      let alive = true
      // In its first life nothing is answered: one delivery is in progress, the others wait for it.
      const inbox = await openInbox(t, () => (alive ? new Promise(() => {}) : undefined))
      const body = { url: inbox.url, events: ['agent.completed'] }
      const { data: webhook } = await service.call('POST', '/v1/webhooks', body)
      const replies: string[] = []
      for (const message of ['one', 'two', 'three']) {
        const { data } = await service.call('POST', '/v1/agents/hello/invoke', { message })
        replies.push(data.request_id)
      }
      await inbox.first(1)
      await service.kill()
      alive = false
      const before = inbox.arrivals.slice()

      if (engine === 'postgres') await service.inStore(endLeases)
      await service.start()
      const arrivals = (await inbox.first(before.length + 3)).slice(before.length)
      assert.deepEqual(arrivals.map((sent) => JSON.parse(sent.body).data.request_id).toSorted(), replies.toSorted())
      for (const sent of before) {
        const again = arrivals.find(({ headers }) => headers['webhook-id'] === sent.headers['webhook-id'])
        assert.equal(again?.body, sent.body)
      }
      const outside = new Webhook(webhook.secret)
      for (const sent of arrivals) outside.verify(sent.body, sent.headers as Record<string, string>)

      await until('all to be settled', async () => {
        const { pagination } = await service.call('GET', `/v1/webhooks/${webhook.id}/deliveries?status=delivered`)
        return pagination.total === 3
      })
      assert.equal(inbox.arrivals.length, before.length + 3)
    })
  })
}
