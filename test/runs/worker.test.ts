import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setImmediate as pass } from 'node:timers/promises'
import { type WorkBatch, Worker } from '../../src/lib/work/worker.ts'

type Turn = { key: string; places: number; results: readonly string[] } & PromiseWithResolvers<WorkBatch<string>>

/** A worker whose turns and work end when the test says so, on a clock of the test's own. */
function openWorker({ total = 2 } = {}) {
  const turns: Turn[] = []
  const surveys: PromiseWithResolvers<{ key: string; due_at: number }[]>[] = []
  const running = new Map<string, (result: string | undefined) => void>()
  const errors: unknown[] = []
  const clock = { time: 1_000_000 }
  // Not the timers of the whole process: those that an earlier file has left would run, too.
  const timers = new Map<() => void, number>()
  let elapsed = 0
  const worker = new Worker<string, string>({
    share: { total, ofLane: () => total },
    serve(key, places, results) {
      const turn = { key, places, results, ...Promise.withResolvers<WorkBatch<string>>() }
      turns.push(turn)
      return turn.promise
    },
    run: (item) => new Promise((resolve) => running.set(item, resolve)),
    survey() {
      surveys.push(Promise.withResolvers())
      return (surveys.at(-1) ?? assert.fail()).promise
    },
    failed: (err) => errors.push(err),
    now: () => clock.time,
    callLater(callback, ms) {
      timers.set(callback, elapsed + ms)
      return () => void timers.delete(callback)
    },
  })
  const rest = async () => {
    for (let i = 0; i < 5; i++) await pass()
  }
  return {
    worker,
    turns,
    surveys,
    running,
    errors,
    clock,
    rest,
    async wake(key = 'a') {
      worker.wake(key)
      await rest()
    },
    /** The last turn takes these. */
    async take(items: string[], next?: number | 'full') {
      turns.at(-1)?.resolve({ items, next })
      await rest()
    },
    async end(item: string, result?: string) {
      running.get(item)?.(result)
      await rest()
    },
    async elapse(ms: number) {
      clock.time += ms
      elapsed += ms
      for (const [callback, due] of timers) if (due <= elapsed && timers.delete(callback)) callback()
      await rest()
    },
  }
}

describe('a worker', () => {
  test('takes the work that it was woken for, never twice at the same time, and again if it was woken in between', async () => {
    const { turns, wake, take } = openWorker()
    await wake()
    await wake()
    await wake()
    assert.equal(turns.length, 1)
    await take([])
    assert.equal(turns.length, 2)
    await take([])
    assert.equal(turns.length, 2)
  })

  test("passes a lane's results to its next turn, and takes more work when a slot is free", async () => {
    const { turns, running, wake, take, end } = openWorker()
    await wake()
    await take(['one', 'two'], 0)
    assert.deepEqual([[...running.keys()], turns.length], [['one', 'two'], 1])
    await end('one', 'result of one')
    const { key, places, results } = turns[1] ?? assert.fail()
    assert.deepEqual({ key, places, results }, { key: 'a', places: 1, results: ['result of one'] })
  })

  test('looks for work itself when more is due, immediately if it is already due', async () => {
    const { turns, clock, wake, take, elapse } = openWorker()
    await wake()
    await take([], clock.time + 2_500)
    for (const ms of [1_000, 1_000, 499]) await elapse(ms)
    assert.equal(turns.length, 1)
    await elapse(1)
    assert.equal(turns.length, 2)
    await take([], clock.time)
    assert.equal(turns.length, 3)
  })

  test('notices within a second that the clock was set forward', async () => {
    const { turns, clock, wake, take, elapse } = openWorker()
    await wake()
    await take([], clock.time + 3_600_000)
    clock.time += 3_600_000
    await elapse(1_000)
    assert.equal(turns.length, 2)
  })

  test('checks a full lane when some of its work ends, here or on another node, and after a second', async () => {
    const { worker, turns, wake, take, end, elapse, rest } = openWorker()
    await wake()
    await take(['one'], 'full')
    await wake()
    assert.equal(turns.length, 1)
    await end('one')
    assert.equal(turns.length, 2)
    await take([], 'full')
    worker.freed('a')
    await rest()
    assert.equal(turns.length, 3)
    await take([], 'full')
    await elapse(999)
    assert.equal(turns.length, 3)
    await elapse(1)
    assert.equal(turns.length, 4)
  })

  test('reports a turn that failed, and tries again a second later', async () => {
    const { turns, errors, wake, elapse, rest } = openWorker()
    await wake()
    turns[0]?.reject(new Error('no database'))
    await rest()
    assert.match(String(errors), /no database/)
    assert.equal(turns.length, 1)
    await elapse(1_000)
    assert.equal(turns.length, 2)
  })

  test('keeps results that could not be stored, and passes them to the next turns, also without a free place', async () => {
    const { turns, wake, take, end, elapse, rest } = openWorker({ total: 1 })
    const handed = () => turns.map(({ results }) => results)
    await wake()
    await take(['one'])
    await end('one', 'result of one')
    turns[1]?.reject(new Error('no database'))
    await rest()
    await wake('b')
    await take(['other'])
    await elapse(1_000)
    assert.deepEqual(handed(), [[], ['result of one'], [], ['result of one']])
    assert.deepEqual([turns[3]?.key, turns[3]?.places], ['a', 0])
    await take([])
    await elapse(10_000)
    assert.ok(
      handed()
        .slice(4)
        .every((results) => results.length === 0),
      'they are stored',
    )
  })

  test('gives up results that could not be stored for five minutes, and for three seconds when it closes', async () => {
    const { worker, turns, wake, take, end, elapse, rest } = openWorker()
    const fail = async () => {
      turns.at(-1)?.reject(new Error('no database'))
      await rest()
      await elapse(1_000)
    }
    await wake()
    await take(['one'])
    await end('one', 'result of one')
    for (let n = 0; n < 301; n++) await fail()
    assert.deepEqual([turns.at(-2)?.results, turns.at(-1)?.results], [['result of one'], []])
    await take(['two'])
    await end('two', 'result of two')
    await fail()
    const before = turns.length
    const closing = worker.close()
    await rest()
    for (let n = 0; n < 3; n++) await fail()
    await closing
    assert.deepEqual(
      turns.slice(before - 1).map(({ results }) => results),
      Array.from({ length: 3 }, () => ['result of two']),
    )
  })

  test('asks the store which lanes have work when it is notified, and every ten seconds', async () => {
    const { worker, turns, surveys, errors, clock, take, elapse, rest } = openWorker()
    worker.survey()
    worker.survey()
    assert.equal(surveys.length, 1)
    surveys[0]?.resolve([
      { key: 'a', due_at: clock.time },
      { key: 'b', due_at: clock.time + 500 },
    ])
    await rest()
    assert.deepEqual(
      turns.map(({ key }) => key),
      ['a'],
    )
    await take([])
    await elapse(100)
    assert.equal(surveys.length, 2, 'the first may have missed what it was told')
    surveys[1]?.reject(new Error('no database'))
    await elapse(400)
    assert.match(String(errors), /no database/)
    assert.deepEqual(
      turns.map(({ key }) => key),
      ['a', 'b'],
    )
    await elapse(9_999)
    assert.equal(surveys.length, 2)
    await elapse(1)
    assert.equal(surveys.length, 3)
  })

  test('close starts nothing new, and waits until work in progress has ended and is stored', async () => {
    const { worker, turns, running, clock, wake, take, end, elapse, rest } = openWorker()
    await wake()
    await take(['one'], clock.time + 500)
    let isClosed = false
    const closing = worker.close().then(() => {
      isClosed = true
    })
    await wake('b')
    await elapse(10_000)
    assert.deepEqual([turns.length, isClosed], [1, false])
    await end('one', 'result of one')
    const { places, results } = turns[1] ?? assert.fail()
    assert.deepEqual([places, results, isClosed], [0, ['result of one'], false])
    await take([])
    await rest()
    await closing
    await wake()
    await elapse(10_000)
    assert.deepEqual([turns.length, running.size, isClosed], [2, 1, true])
  })
})
