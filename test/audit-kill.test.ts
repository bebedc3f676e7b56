import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startChildService } from './support/child-service.ts'
import { ENGINES } from './support/service.ts'
import { untilHolds } from './support/until.ts'

type Entry = { target: string; seq: number | null; hash: string; prev_hash: string }

for (const engine of ENGINES) {
  test(`kill -9 during a burst of changes on ${engine}: what was done is in the log, nothing else is, and the chain holds`, async (t) => {
    const service = await startChildService(t, engine)
    const answered: string[] = []
    const enough = Promise.withResolvers<void>()
    const burst = Array.from({ length: 80 }, async (_, i) => {
      const { data } = await service.call('POST', '/v1/agents', { name: `burst-${i}` })
      answered.push(data.id)
      if (answered.length === 30) enough.resolve()
    })
    const settled = Promise.allSettled(burst)
    await enough.promise
    await service.kill()
    await settled
    await service.start()

    const listed = async <T>(path: string): Promise<T[]> => (await service.call('GET', path)).data
    const agents = (await listed<{ id: string; name: string }>('/v1/agents?limit=100')).filter(({ name }) =>
      name.startsWith('burst-'),
    )
    const entries = await untilHolds(async () => {
      const found = await listed<Entry>('/v1/audit-log?limit=100&action=createAgent&sort=created_at')
      assert.ok(found.every(({ seq }) => seq !== null))
      return found
    })
    const targets = new Set(entries.map(({ target }) => target))
    assert.ok(answered.length >= 30)
    assert.deepEqual(
      answered.filter((id) => !targets.has(id)),
      [],
    )
    assert.deepEqual(agents.map(({ id }) => id).toSorted(), [...targets].toSorted())

    const chain = (await listed<Entry>('/v1/audit-log?limit=100')).toSorted((a, b) => Number(a.seq) - Number(b.seq))
    for (const [i, { seq, prev_hash }] of chain.entries()) {
      if (i > 0) assert.deepEqual([seq, prev_hash], [Number(chain[i - 1]?.seq) + 1, chain[i - 1]?.hash])
    }
  })
}
