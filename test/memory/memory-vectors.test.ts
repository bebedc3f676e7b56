import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CompiledQuery } from 'kysely'
import { findSimilar, insertVectors } from '../../src/memory/embedding/vectors.ts'
import * as memories from '../../src/memory/store.ts'
import type { Storage } from '../../src/storage/open-storage.ts'
import { VectorThread } from '../../src/storage/postgres/vector-thread.ts'
import { onBothStores } from '../support/stores/store.ts'

const MODEL = 'model'
const DIMENSIONS = 8

/** One of unit length that is its own for each number. */
function vectorOf(n: number): Float32Array {
  const values = Array.from({ length: DIMENSIONS }, (_, i) => Math.sin(n * (i + 1)))
  const length = Math.hypot(...values)
  return Float32Array.from(values, (value) => value / length)
}

function cosine(a: Float32Array, b: Float32Array): number {
  return a.reduce((sum, value, i) => sum + value * (b[i] as number), 0)
}

/** Gives an agent so many memories of a user, each with a vector; their seqs. */
async function fill(storage: Storage, agent_seq: number, user_id: string, count: number): Promise<number[]> {
  const items = Array.from({ length: count }, (_, i) => ({
    id: `mem_${agent_seq}_${user_id}_${i}`,
    kind: 'note' as const,
    role: null,
    content: `note ${i}`,
    user_id,
    session_id: null,
    created_at: 1_700_000_000_000 + i,
    metadata: {},
  }))
  return storage.transaction(async (db) => {
    await memories.insert(db, agent_seq, items)
    const rows = await db
      .selectFrom('memories')
      .select(['seq', 'content'])
      .where('agent_seq', '=', agent_seq)
      .where('user_id', '=', user_id)
      .orderBy('seq')
      .execute()
    await insertVectors(
      db,
      MODEL,
      rows.map((row) => ({ ...row, vector: vectorOf(row.seq) })),
    )
    return rows.map(({ seq }) => seq)
  })
}

onBothStores('vectors', (store) => {
  test('finds the nearest memories of the scope, and the given ones, with their cosines', async () => {
    const { storage } = store()
    const seqs = await fill(storage, 1, 'anna', 60)
    await fill(storage, 1, 'ben', 20)
    await fill(storage, 2, 'anna', 20)
    const query = { model: MODEL, vector: vectorOf(3.3) }
    const byNearness = seqs.toSorted(
      (a, b) => cosine(vectorOf(b), query.vector) - cosine(vectorOf(a), query.vector) || b - a,
    )
    const [oldest, farthest] = [seqs[0] as number, byNearness.at(-1) as number]
    const found = await findSimilar(storage, { agent_seq: 1, user_id: 'anna' }, query, [oldest, farthest], {
      newest: 100,
      nearest: 10,
    })
    assert.deepEqual(
      new Set(found.keys()),
      new Set([...byNearness.slice(0, 10), oldest, farthest]),
      'nothing of others, nothing else',
    )
    for (const [seq, similarity] of found) {
      assert.ok(Math.abs(similarity - cosine(vectorOf(seq), query.vector)) < 1e-9, String(similarity))
    }
  })

  test('in a large scope, searches the newest memories and the given ones', async () => {
    const { storage } = store()
    const seqs = await fill(storage, 3, 'anna', 40)
    const query = { model: MODEL, vector: vectorOf(seqs[0] as number) }
    const given = [seqs[0], seqs[1], seqs[39]] as number[]
    const limits = { newest: 10, nearest: 3 }
    const found = await findSimilar(storage, { agent_seq: 3 }, query, given, limits)
    for (const seq of given) assert.ok(found.has(seq), String(seq))
    const others = [...found.keys()].filter((seq) => !given.includes(seq))
    assert.ok(others.length <= 3 && others.every((seq) => seqs.indexOf(seq) >= 30), others.join())
    assert.ok(Math.abs((found.get(seqs[0] as number) ?? 0) - 1) < 1e-6)
  })

  test('does not compare vectors of another model or another length', async () => {
    const { storage } = store()
    await fill(storage, 4, 'anna', 3)
    const find = (model: string, vector: Float32Array) => findSimilar(storage, { agent_seq: 4 }, { model, vector }, [])
    assert.equal((await find('other', vectorOf(1))).size, 0)
    assert.deepEqual(new Set((await find(MODEL, new Float32Array(3))).values()), new Set([0]))
  })
})

test('a comparison in progress fails as soon as the database is closed', async () => {
  const thread = new VectorThread({ url: 'postgres://127.0.0.1:1/none', readTimeout: 10_000 })
  const query = { sql: 'select 1', parameters: [] } as unknown as CompiledQuery
  const comparing = thread.compare(query, { vector: vectorOf(1), nearest: 1, given: [] })
  await Promise.all([assert.rejects(comparing, /the database is closed/), thread.close()])
})
