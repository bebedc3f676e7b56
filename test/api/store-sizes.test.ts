import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openSizes } from '../../src/service/store-sizes.ts'

/** A store with this number of rows. Each measure ends when the test says so. */
function store(invocations: number) {
  let [time, bytes] = [0, 0]
  const waiting: (() => void)[] = []
  const measure = () =>
    new Promise<{ bytes: number; rows: Record<string, number>; days: [] }>((resolve) => {
      waiting.push(() => {
        bytes += 1
        resolve({ bytes, rows: { invocations }, days: [] })
      })
    })
  const sizes = openSizes({ measure, now: () => time })
  const end = () => waiting.splice(0).forEach((resolve) => resolve())
  return { sizes, end, wait: (more: number) => (time += more), pending: () => waiting.length }
}

describe('what a store has', () => {
  test('is counted for each request while there is little, and once for those that ask at once', async () => {
    const { sizes, end, pending } = store(1_000)
    const both = [sizes(), sizes()]
    assert.equal(pending(), 1)
    end()
    assert.deepEqual(
      (await Promise.all(both)).map(({ bytes }) => bytes),
      [1, 1],
    )
    const next = sizes()
    end()
    assert.equal((await next).bytes, 2)
  })

  test('is told as it was a minute ago at most where there is much: no request waits for it', async () => {
    const { sizes, end, wait, pending } = store(1_000_000)
    const first = sizes()
    end()
    assert.equal((await first).bytes, 1)
    assert.equal((await sizes()).bytes, 1)
    assert.equal(pending(), 0, 'it is not measured again')
    wait(60_000)
    assert.equal((await sizes()).bytes, 1, 'while it is measured, the last one is told')
    assert.equal(pending(), 1)
    end()
    await new Promise(setImmediate)
    assert.deepEqual([(await sizes()).bytes, pending()], [2, 0])
  })
})
