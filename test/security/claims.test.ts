import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { KyselyPlugin } from 'kysely'
import * as claims from '../../src/storage/leases/claims.ts'
import { onBothStores } from '../support/stores/store.ts'

onBothStores('a claim whose owner seems to be dead', (opened) => {
  const request = { fingerprint: 'same', project_id: 'prj_default', request_id: 'req_1' }
  const at = 1_000
  const leaseOf = (key: string, owner: string, until: number) => ({ key: ['scope', key], owner, until })
  const answer = { status: 200, headers: {}, body: 'the first answer' }

  test('belongs to the owner that answers while a retry takes it over', async () => {
    const { db } = opened().storage
    const slow = leaseOf('overtaken', 'slow', 500)
    assert.equal((await claims.claim(db, slow, request, 0)).state, 'claimed')
    // The reply is stored after the retry has read the claim and before it takes the claim over.
    let isAnswered = false
    const meanwhile: KyselyPlugin = {
      transformQuery: ({ node }) => node,
      async transformResult({ result }) {
        if (!isAnswered && result.rows.some((row) => row['fingerprint'] === 'same')) {
          isAnswered = true
          assert.ok(await claims.complete(db, slow, answer))
        }
        return result
      },
    }
    const retry = leaseOf('overtaken', 'retry', 2_000)
    const found = await claims.claim(db.withPlugin(meanwhile), retry, request, at)
    assert.ok(isAnswered)
    assert.deepEqual(found, { state: 'done', reply: answer })
  })

  test('is not free for another request until its own one has failed', async () => {
    const { db, write } = opened().storage
    const dead = leaseOf('reused', 'dead', 500)
    await claims.claim(db, dead, request, 0)
    const other = { fingerprint: 'other', project_id: 'prj_default', request_id: 'req_2' }
    const mine = leaseOf('reused', 'mine', 2_000)
    assert.deepEqual(await claims.claim(db, mine, other, at), { state: 'other' })
    assert.deepEqual(await claims.claim(db, mine, request, at), { state: 'claimed', earlier: 'req_1' })
    assert.ok(await write({ writes: [], endings: [claims.freeing(mine)] }))
    const next = leaseOf('reused', 'next', 2_000)
    assert.deepEqual(await claims.claim(db, next, other, at), { state: 'claimed', earlier: undefined })
  })
})
