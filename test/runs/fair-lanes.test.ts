import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { FairLanes, type LaneTurn } from '../../src/lib/work/fair-lanes.ts'
import { fc } from '../support/running/property.ts'

const share = { total: 10, ofLane: () => 3 }
const FULL_UNTIL = 100

/** Every lane in `keys` has as much to do as may begin. */
function begin(lanes: FairLanes, keys: string[], now = 0): LaneTurn[] {
  for (const key of keys) lanes.wake(key, now)
  const turns = lanes.turns(now)
  for (const turn of turns) lanes.served(turn, { begun: turn.places, next: undefined }, FULL_UNTIL)
  return turns
}

describe('fair lanes', () => {
  test('each lane gets one slot before any lane gets a second, up to its own limit and the total', () => {
    const lanes = new FairLanes(share)
    assert.deepEqual(begin(lanes, ['a', 'b', 'c', 'd', 'e', 'f']), [
      { key: 'a', places: 2 },
      { key: 'b', places: 2 },
      { key: 'c', places: 2 },
      { key: 'd', places: 2 },
      { key: 'e', places: 1 },
      { key: 'f', places: 1 },
    ])
    assert.deepEqual(begin(lanes, ['a', 'g']), [])
    lanes.ended('a', false)
    assert.deepEqual(begin(lanes, []), [{ key: 'g', places: 1 }], 'the place is for the lane that has none')
  })

  test('a long queue does not delay a short one that arrives later', () => {
    const lanes = new FairLanes({ total: 4, ofLane: () => 4 })
    const begun: string[] = []
    const queues = new Map([['long', 1_000]])
    const look = () => {
      for (const turn of lanes.turns(0)) {
        const left = queues.get(turn.key) ?? 0
        const count = Math.min(turn.places, left)
        queues.set(turn.key, left - count)
        for (let i = 0; i < count; i++) begun.push(turn.key)
        lanes.served(turn, { begun: count, next: left > count ? 0 : undefined }, FULL_UNTIL)
      }
    }
    lanes.wake('long', 0)
    look()
    queues.set('short', 3)
    lanes.wake('short', 0)
    for (let i = 0; i < 6; i++) {
      lanes.ended('long', false)
      look()
    }
    assert.deepEqual(begun.slice(4), ['short', 'short', 'long', 'long', 'long', 'long'], 'two of four are its share')
  })

  test('projects share the slots equally, however many agents each has', () => {
    const lanes = new FairLanes({ total: 8, ofLane: () => 8 })
    const many = Array.from({ length: 20 }, (_, n) => `noisy/${n}`)
    assert.deepEqual(
      begin(lanes, [...many, 'quiet/1']).map(({ key, places }) => [key, places]),
      [...many.slice(0, 4).map((key) => [key, 1]), ['quiet/1', 4]],
    )
  })

  test('a project without active work starts immediately, even if another project has all slots', () => {
    const lanes = new FairLanes({ total: 8, ofLane: () => 8 })
    const many = Array.from({ length: 20 }, (_, n) => `noisy/${n}`)
    begin(lanes, many)
    assert.deepEqual(begin(lanes, ['quiet/1', 'calm/1', 'late/1']), [
      { key: 'quiet/1', places: 1 },
      { key: 'calm/1', places: 1 },
    ])
    lanes.ended('noisy/0', false)
    lanes.ended('noisy/1', false)
    assert.deepEqual(begin(lanes, []), [{ key: 'late/1', places: 1 }], 'of the noisy one, none begins')
  })

  test('lanes whose project is at its limit get the next slot in turn', () => {
    const lanes = new FairLanes({ total: 8, ofLane: () => 8 })
    const look = (...begins: string[]) => {
      const turns = lanes.turns(0)
      for (const turn of turns) {
        const begun = begins.includes(turn.key) ? 1 : 0
        lanes.served(turn, { begun, next: 'group full' }, FULL_UNTIL)
      }
      return turns.map(({ key }) => key)
    }
    for (const key of ['p/1', 'p/2', 'p/3']) lanes.wake(key, 0)
    assert.deepEqual(look('p/1'), ['p/1', 'p/2', 'p/3'])
    assert.deepEqual(look(), [])
    lanes.ended('p/1', false)
    assert.deepEqual(look('p/1'), ['p/1'])
    lanes.ended('p/1', false)
    assert.deepEqual(look('p/2'), ['p/2'], 'one after the other, although the place was of the first')
    lanes.freed('p/9')
    assert.deepEqual(look('p/3'), ['p/3'])
    lanes.freed('q/1')
    assert.deepEqual(look(), [], 'another project')
    lanes.freed('p/9')
    const [turn = assert.fail()] = lanes.turns(0)
    lanes.freed('p/9')
    lanes.served(turn, { begun: 0, next: 'group full' }, FULL_UNTIL)
    assert.equal(look('p/1').length, 1, 'the turn may have counted what ended during it')
  })

  test('a failing lane gets one slot, and all failing lanes half of the slots, until twenty in a row succeed', () => {
    const lanes = new FairLanes(share)
    const failing = ['a', 'b', 'c', 'd', 'e', 'f', 'g']
    for (const key of failing) lanes.report(key, 'failed')
    assert.deepEqual(
      begin(lanes, failing).map(({ key, places }) => [key, places]),
      ['a', 'b', 'c', 'd', 'e'].map((key) => [key, 1]),
    )
    assert.deepEqual(begin(lanes, ['healthy', 'well']), [
      { key: 'healthy', places: 3 },
      { key: 'well', places: 2 },
    ])
    lanes.ended('b', true)
    assert.deepEqual(begin(lanes, []), [
      { key: 'f', places: 1 },
      { key: 'b', places: 0 },
    ])
    const flaky = new FairLanes(share)
    for (let i = 0; i < 100; i++) {
      flaky.report('a', i % 5 === 0 ? 'failed' : 'well')
      assert.deepEqual(begin(flaky, ['a']), [{ key: 'a', places: 1 }])
      flaky.wake('a', 1)
      flaky.ended('a', false)
    }
    for (let i = 0; i < 20; i++) flaky.report('a', 'well')
    assert.deepEqual(begin(flaky, ['a']), [{ key: 'a', places: 3 }])
  })

  test('work that arrives during a turn is not missed, and a lane has one turn at a time', () => {
    const lanes = new FairLanes(share)
    lanes.wake('a', 5)
    assert.deepEqual([lanes.turns(4), lanes.nextTurn(4)], [[], 5])
    const [turn = assert.fail()] = lanes.turns(5)
    lanes.wake('a', 6)
    assert.deepEqual(lanes.turns(6), [])
    lanes.served(turn, { begun: 0, next: undefined }, FULL_UNTIL)
    assert.deepEqual(lanes.turns(6), [{ key: 'a', places: 3 }])
  })

  test("a turn that only stores results keeps the lane's pending work", () => {
    const lanes = new FairLanes(share)
    begin(lanes, ['a'])
    lanes.wake('a', 0)
    lanes.report('a', 'failed')
    lanes.ended('a', true)
    assert.deepEqual(begin(lanes, []), [{ key: 'a', places: 0 }], 'two more are under way')
    lanes.ended('a', false)
    lanes.ended('a', false)
    assert.deepEqual(begin(lanes, []), [{ key: 'a', places: 1 }])
  })

  test('a full lane waits until some of its work ends, or for its pause', () => {
    const lanes = new FairLanes(share)
    lanes.wake('a', 0)
    const take = (now: number) => {
      const turns = lanes.turns(now)
      for (const turn of turns) lanes.served(turn, { begun: 0, next: 'full' }, now + FULL_UNTIL)
      return turns.length
    }
    assert.equal(take(0), 1)
    lanes.wake('a', 0)
    assert.deepEqual([take(99), lanes.nextTurn(99)], [0, 100], 'more work makes no room')
    lanes.freed('a')
    assert.equal(take(99), 1)
    assert.equal(take(100), 0)
    assert.equal(take(199), 1)

    const [turn = assert.fail()] = lanes.turns(299)
    lanes.freed('a')
    lanes.served(turn, { begun: 0, next: 'full' }, 399)
    assert.equal(take(299), 1, 'the turn may have counted what ended during it')
  })

  test('an idle lane is forgotten', () => {
    const lanes = new FairLanes(share)
    begin(lanes, ['a'])
    assert.equal(lanes.isIdle, false)
    for (let i = 0; i < 3; i++) lanes.ended('a', true)
    assert.equal(lanes.isIdle, false)
    assert.deepEqual(begin(lanes, []), [{ key: 'a', places: 0 }])
    assert.equal(lanes.isIdle, true)
    assert.equal(lanes.nextTurn(-1), Number.POSITIVE_INFINITY)
    assert.deepEqual(lanes.turns(1e9), [])
  })

  test('after close, turns only store results', () => {
    const lanes = new FairLanes(share)
    begin(lanes, ['a'])
    lanes.ended('a', true)
    lanes.close()
    assert.deepEqual(begin(lanes, ['a', 'b']), [{ key: 'a', places: 0 }])
  })

  test('in any order of events, limits hold, no slot or result is lost, and every lane gets its turn', () => {
    const key = fc.integer({ min: 0, max: 6 }).map((n) => `w${n}`)
    const step = fc.oneof(
      fc.record({ kind: fc.constant('due' as const), key }),
      fc.record({
        kind: fc.constant('look' as const),
        share: fc.double({ min: 0, max: 1, noNaN: true }),
        next: fc.constantFrom<(number | 'full' | undefined)[]>(0, 'full', undefined),
      }),
      fc.record({ kind: fc.constant('end' as const), how: fc.constantFrom('well' as const, 'failed' as const) }),
      fc.record({ kind: fc.constant('freed' as const), key }),
    )
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const lanes = new FairLanes(share)
        const running: string[] = []
        const results = new Set<string>()
        for (const event of steps) {
          if (event.kind === 'due') lanes.wake(event.key, 0)
          if (event.kind === 'freed') lanes.freed(event.key)
          if (event.kind === 'look') {
            for (const turn of lanes.turns(0)) {
              results.delete(turn.key)
              const begun = Math.round(event.share * turn.places)
              lanes.served(turn, { begun, next: event.next }, FULL_UNTIL)
              for (let i = 0; i < begun; i++) running.push(turn.key)
            }
          }
          const ended = event.kind === 'end' && running.shift()
          if (ended) {
            lanes.report(ended, event.how)
            lanes.ended(ended, true)
            results.add(ended)
          }
          assert.ok(running.length <= share.total)
          for (const same of Map.groupBy(running, (one) => one).values()) assert.ok(same.length <= share.ofLane())
        }
        for (const one of running.splice(0)) {
          lanes.ended(one, true)
          results.add(one)
        }
        for (const turn of lanes.turns(FULL_UNTIL)) {
          results.delete(turn.key)
          lanes.served(turn, { begun: 0, next: undefined }, FULL_UNTIL)
        }
        assert.deepEqual(results, new Set(), 'each result is stored')
        for (const turn of lanes.turns(FULL_UNTIL)) lanes.served(turn, { begun: 0, next: undefined }, FULL_UNTIL)
        assert.equal(lanes.isIdle, true)
        const places = begin(lanes, ['x', 'y', 'z', 'u'], FULL_UNTIL).reduce((sum, turn) => sum + turn.places, 0)
        assert.equal(places, share.total, 'every place is free again')
      }),
    )
  })
})
