import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { FairRoom, type Portion } from '../../src/lib/work/fair-room.ts'

/** Enough for requests that are granted immediately, and too short for those that have to wait. */
const NOW = 1

describe('an amount that projects share', () => {
  test('one project gets half of it, and a project that uses none gets its part immediately', async () => {
    const room = new FairRoom(8)
    const ofAlpha = []
    for (let i = 0; i < 8; i++) ofAlpha.push(await room.take('alpha/a', 1, NOW))
    assert.equal(ofAlpha.filter(Boolean).length, 4)
    assert.ok(await room.take('beta/b', 1, NOW))
    assert.ok(await room.take('beta/b', 1, NOW))
    assert.equal(await room.take('beta/b', 1, NOW), undefined)
    assert.ok(await room.take('gamma/c', 1, NOW), 'there is room for a third')
    assert.equal(await room.take('alpha/other', 1, NOW), undefined)
  })

  test('projects take turns, and lanes within each, whatever the order of the requests', async () => {
    const room = new FairRoom(1)
    const first = await room.take('alpha/a', 1)
    const order: string[] = []
    const wait = (lane: string) =>
      room.take(lane, 1).then((portion) => {
        order.push(lane)
        portion?.release()
      })
    const all = ['alpha/a', 'alpha/a', 'alpha/a', 'alpha/b', 'beta/c', 'beta/c', 'gamma/d'].map(wait)
    first?.release()
    await Promise.all(all)
    assert.deepEqual(order, ['alpha/a', 'beta/c', 'gamma/d', 'alpha/b', 'beta/c', 'alpha/a', 'alpha/a'])
  })

  test('the rest is reserved for a project that uses none and needs a lot', async () => {
    const room = new FairRoom(10)
    const held = await room.take('alpha/a', 5, NOW)
    const order: string[] = []
    const large = room.take('beta/b', 8).then((portion) => {
      order.push('large')
      return portion
    })
    const small = room.take('alpha/a', 1).then(() => order.push('small'))
    held?.keep(1)
    held?.release()
    ;(await large)?.release()
    await small
    assert.deepEqual(order, ['large', 'small'])
  })

  test('a request that times out lets the next ones in, and releasing twice counts once', async () => {
    const room = new FairRoom(4)
    const [first, second] = [await room.take('alpha/a', 1), await room.take('beta/b', 1)]
    const large = room.take('gamma/c', 4, NOW)
    const small = room.take('delta/d', 1, 60_000)
    assert.equal(await large, undefined)
    const third = (await small) as Portion
    for (const portion of [first, second, third, first, second, third]) portion?.release()
    assert.ok(await room.take('alpha/a', 4, NOW), 'all of it is free again')
    assert.equal(await room.take('beta/b', 1, NOW), undefined)
  })

  test('an amount that is already in use counts, and a request for more than the total gets the total', async () => {
    const room = new FairRoom(4)
    const used = room.add('alpha/a', 9)
    assert.equal(await room.take('beta/b', 1, NOW), undefined)
    used.keep(2)
    assert.ok(await room.take('beta/b', 1, NOW))
    used.release()
    assert.equal(await room.take('gamma/c', 100, NOW), undefined)
  })

  test('no request waits after close', async () => {
    const room = new FairRoom(1)
    await room.take('alpha/a', 1)
    const waiting = room.take('beta/b', 1)
    room.close()
    assert.equal(await waiting, undefined)
    assert.equal(await room.take('gamma/c', 1), undefined)
  })
})
