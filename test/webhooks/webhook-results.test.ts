import assert from 'node:assert/strict'
import { test } from 'node:test'
import { insertMany } from '../../src/storage/journal/write-rows.ts'
import { endAttempts } from '../../src/webhooks/delivery/delivery-queue.ts'
import { DELIVERIES } from '../../src/webhooks/delivery/delivery-store.ts'
import { onBothStores } from '../support/stores/store.ts'

onBothStores('the results of several deliveries', (opened) => {
  test('are stored together, except that of a delivery which another node has taken', async () => {
    const { storage } = opened()
    const ids = ['dlv_1', 'dlv_2', 'dlv_3']
    const pending = { webhook_id: 'whk_1', event_id: 'evt_1', event: 'ping', status: 'pending' }
    const untried = { tries: 0, attempt_count: 0, attempts: '[]', next_attempt_at: 9_000, created_at: 1 }
    const rows = ids.map((id) => ({ id, ...pending, ...untried }))
    await storage.transaction((db) => insertMany(db, DELIVERIES, rows))
    await storage.db.updateTable('deliveries').set({ owner: 'node:1' }).execute()
    await storage.db.updateTable('deliveries').set({ owner: 'other:1' }).where('id', '=', 'dlv_2').execute()

    const attempt = { attempt: 1, at: 2_000, duration_ms: 3, response_status: 200, error: null }
    const counted = { tries: 1, attempt_count: 1, attempts: [attempt] }
    const delivered = { ...counted, status: 'delivered', next_attempt_at: null, delivered_at: 2_003 } as const
    const failed = { ...counted, status: 'pending', next_attempt_at: 7_000, delivered_at: null } as const
    const ended = ids.map((id, i) => ({
      lease: { key: [id], owner: 'node:1', until: 9_000 },
      after: i === 0 ? failed : delivered,
    }))
    const held = await endAttempts(storage.db, ended)
    assert.deepEqual([...held].toSorted(), ['dlv_1', 'dlv_3'])
    const stored = await storage.db.selectFrom('deliveries').selectAll().orderBy('id').execute()
    assert.deepEqual(
      stored.map(({ status, owner, next_attempt_at, delivered_at, attempts }) => {
        return [status, owner, next_attempt_at, delivered_at, JSON.parse(attempts)]
      }),
      [
        ['pending', null, 7_000, null, [attempt]],
        ['pending', 'other:1', 9_000, null, []],
        ['delivered', null, null, 2_003, [attempt]],
      ],
    )
  })
})
