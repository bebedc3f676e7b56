import assert from 'node:assert/strict'
import { test } from 'node:test'
import { idSource } from '../src/lib/id.ts'
import { createLog } from '../src/lib/log.ts'
import { renewMemories } from '../src/memory/renew-memories.ts'
import { WarmRecall } from '../src/memory/search/warm-recall.ts'
import * as memories from '../src/memory/store.ts'
import { onBothStores } from './support/stores/store.ts'

const newId = idSource()
const log = createLog({ level: 'silent', format: 'json' })
const run = { attempts: 1, finish: async () => true }

onBothStores('memories of an older release', (store) => {
  const said = ['Anna: I went to Porto', 'Ben: She bought a kayak', 'Anna: lovely']

  /** As a release wrote them that knew neither names nor irregular forms. */
  async function remember(): Promise<void> {
    const { db } = store().storage
    await store().storage.transaction((transaction) =>
      memories.insert(
        transaction,
        1,
        said.map((content, i) => ({
          content: content.replace(/went|bought/, 'x'),
          id: newId('mem', i),
          kind: 'turn',
          role: 'user',
          user_id: 'anna',
          session_id: 's1',
          created_at: i,
          metadata: {},
        })),
      ),
    )
    for (const [i, content] of said.entries()) {
      await db.updateTable('memories').set({ content }).where('created_at', '=', i).execute()
    }
  }

  test('get the terms of this one, on warm scopes and in the index, once', async () => {
    const { storage } = store()
    const { db } = storage
    const recalls = [0, 50_000_000].map((room) => new WarmRecall({ storage, now: Date.now, room }))
    const found = (query: string) =>
      Promise.all(
        recalls.map(
          async (recall) => (await recall.search({ agent_seq: 1, user_id: 'anna' }, query, { limit: 1 })).total,
        ),
      )
    await remember()
    assert.deepEqual(await found('Where did she go?'), [0, 0])

    const { run: renew } = renewMemories({ storage, log })
    // Stopped at once, it goes on the next time.
    await renew(null, { ...run, signal: AbortSignal.abort() })
    assert.deepEqual(await found('Where did she go?'), [0, 0])
    await renew(null, { ...run, signal: new AbortController().signal })
    assert.deepEqual(await found('Where did she go?'), [3, 3])
    assert.deepEqual(await found('What did Ben buy?'), [3, 3])

    const terms = () => db.selectFrom('memories').select(['seq', 'terms', 'length']).orderBy('seq').execute()
    const before = await terms()
    assert.equal(before[1]?.terms, '_byben ben buy kayak')
    await db.updateTable('memories').set({ terms: 'kept' }).execute()
    await renew(null, { ...run, signal: new AbortController().signal })
    assert.ok(
      (await terms()).every((row) => row.terms === 'kept'),
      'nothing is left to do',
    )
  })
})
