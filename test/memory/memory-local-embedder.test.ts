import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { createLog } from '../../src/lib/log.ts'
import { type Embedder, openEmbedder } from '../../src/runtime/embedders/embedder.ts'
import { FREE_METER } from '../support/service/free-meter.ts'

describe('the local embedding model', () => {
  let embedder: Embedder
  before(() => {
    const log = createLog({ level: 'silent', format: 'json' })
    embedder = openEmbedder({ type: 'local' }, { log, now: Date.now })
  })
  after(() => embedder.close())

  const signal = new AbortController().signal
  const dot = (a: Float32Array, b: Float32Array) => a.reduce((sum, value, i) => sum + value * (b[i] as number), 0)

  test('places texts with similar meanings close together', async () => {
    const [dog, pet, market] = (await embedder.embed(
      ['my dog is called Biscuit', 'what is the name of my pet?', 'the stock market fell today'],
      signal,
      FREE_METER,
    )) as [Float32Array, Float32Array, Float32Array]
    assert.equal(dog.length, 512)
    assert.ok(Math.abs(dot(dog, dog) - 1) < 1e-5)
    assert.ok(dot(dog, pet) > dot(dog, market) + 0.2, `${dot(dog, pet)} ${dot(dog, market)}`)
  })

  test('accepts texts without words, in other scripts, and long ones', async () => {
    const vectors = await embedder.embed(['', ' \n', '🙂', '東京', 'word '.repeat(5_000)], signal, FREE_METER)
    assert.deepEqual(
      vectors.map((vector) => vector?.length),
      [512, 512, 512, 512, 512],
    )
    assert.equal((await embedder.query('', FREE_METER))?.length, 512)
  })

  test('stops waiting when it is aborted', async () => {
    await assert.rejects(embedder.embed(['one'], AbortSignal.abort(), FREE_METER), { name: 'AbortError' })
  })
})
