import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setImmediate as pass } from 'node:timers/promises'
import { Lookout } from '../src/lib/work/lookout.ts'

/** A lookout whose looks end when the test says so, on a clock of the test's own. */
function lookout() {
  const looks: PromiseWithResolvers<number | undefined>[] = []
  const errors: unknown[] = []
  const clock = { time: 1_000_000 }
  // Not the timers of the whole process: whatever an earlier file has left would use them, too.
  const timers = new Map<() => void, number>()
  let elapsed = 0
  const callLater = (callback: () => void, ms: number) => {
    timers.set(callback, elapsed + ms)
    return () => void timers.delete(callback)
  }
  const look = () => {
    const one = Promise.withResolvers<number | undefined>()
    looks.push(one)
    return one.promise
  }
  const it = new Lookout({ look, failed: (err) => errors.push(err), now: () => clock.time, callLater })
  const end = async (due_at?: number) => {
    looks.at(-1)?.resolve(due_at)
    await pass()
  }
  const elapse = async (ms: number) => {
    clock.time += ms
    elapsed += ms
    for (const [callback, due] of timers) {
      if (due <= elapsed && timers.delete(callback)) callback()
    }
    await pass()
  }
  return { it, looks, errors, clock, end, elapse }
}

describe('a lookout', () => {
  test('looks once more after a look in which it was woken, however often, and never twice at once', async () => {
    const { it, looks, end } = lookout()
    it.wake()
    it.wake()
    it.wake()
    assert.equal(looks.length, 1)
    await end()
    assert.equal(looks.length, 2)
    await end()
    assert.equal(looks.length, 2)
  })

  test('looks by itself when more is due, and at once if it is due already', async () => {
    const { it, looks, clock, end, elapse } = lookout()
    it.wake()
    await end(clock.time + 2_500)
    for (const ms of [1_000, 1_000, 499]) await elapse(ms)
    assert.equal(looks.length, 1)
    await elapse(1)
    assert.equal(looks.length, 2)
    await end(clock.time)
    assert.equal(looks.length, 3)
  })

  test('notices within a second that the clock was set forward', async () => {
    const { it, looks, clock, end, elapse } = lookout()
    it.wake()
    await end(clock.time + 3_600_000)
    clock.time += 3_600_000
    await elapse(1_000)
    assert.equal(looks.length, 2)
  })

  test('a wake replaces the time that it waited for', async () => {
    const { it, looks, clock, end, elapse } = lookout()
    it.wake()
    await end(clock.time + 500)
    it.wake()
    await end()
    await elapse(10_000)
    assert.equal(looks.length, 2)
  })

  test('tells of a look that failed, and looks again a second later', async () => {
    const { it, looks, errors, elapse } = lookout()
    it.wake()
    looks[0]?.reject(new Error('no database'))
    await pass()
    assert.match(String(errors), /no database/)
    assert.equal(looks.length, 1)
    await elapse(1_000)
    assert.equal(looks.length, 2)
  })

  test('close waits for the look under way and lets no other begin', async () => {
    const { it, looks, clock, end, elapse } = lookout()
    it.wake()
    it.wake()
    let isClosed = false
    const closing = it.close().then(() => {
      isClosed = true
    })
    await pass()
    assert.deepEqual([it.isClosed, isClosed], [true, false])
    await end(clock.time + 500)
    await closing
    it.wake()
    await elapse(10_000)
    assert.equal(looks.length, 1)
  })
})
