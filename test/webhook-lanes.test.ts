import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createLanes, type Turn } from '../src/webhooks/delivery/lanes.ts'
import { fc } from './support/property.ts'

const limits = { maxInFlight: 10, maxPerEndpoint: 3 }

/** Everybody in `webhook_ids` has as much to send as may start. */
function start(lanes: ReturnType<typeof createLanes>, webhook_ids: string[]): Turn[] {
  for (const webhook_id of webhook_ids) lanes.bringForward(webhook_id, 0)
  const turns = lanes.turns(0)
  for (const turn of turns) lanes.looked(turn, turn.places)
  return turns
}

describe('lanes', () => {
  test('a few places each, as many as there are in all', () => {
    const lanes = createLanes(limits)
    assert.deepEqual(start(lanes, ['a', 'b', 'c', 'd', 'e']), [
      { webhook_id: 'a', places: 3 },
      { webhook_id: 'b', places: 3 },
      { webhook_id: 'c', places: 3 },
      { webhook_id: 'd', places: 1 },
    ])
    assert.deepEqual(start(lanes, ['a', 'b', 'c', 'd', 'e']), [])
    lanes.ended('a')
    assert.deepEqual(
      start(lanes, ['a']),
      [
        { webhook_id: 'e', places: 1 },
        { webhook_id: 'a', places: 0 },
      ],
      'the place is for who has none, the turn to report for who has ended',
    )
  })

  test('one place while the receiver fails, and half of all for those who fail', () => {
    const lanes = createLanes(limits)
    const failing = ['a', 'b', 'c', 'd', 'e', 'f', 'g']
    for (const webhook_id of failing) {
      lanes.bringForward(webhook_id, 0)
      lanes.judge(webhook_id, true)
    }
    assert.deepEqual(
      start(lanes, failing).map(({ places }) => places),
      [1, 1, 1, 1, 1],
    )
    assert.deepEqual(start(lanes, ['healthy', 'well']), [
      { webhook_id: 'healthy', places: 3 },
      { webhook_id: 'well', places: 2 },
    ])
    lanes.ended('b')
    assert.deepEqual(start(lanes, ['b']), [
      { webhook_id: 'f', places: 1 },
      { webhook_id: 'b', places: 0 },
    ])
  })

  test('a wake-up while somebody looks is not lost', () => {
    const lanes = createLanes(limits)
    lanes.bringForward('a', 5)
    assert.deepEqual([lanes.turns(4), lanes.nextTurn(4)], [[], 5])
    const [turn] = lanes.turns(5) as [Turn]
    lanes.bringForward('a', 6)
    assert.deepEqual(lanes.turns(6), [], 'one look at a time')
    lanes.looked(turn, 0)
    assert.deepEqual(lanes.turns(6), [{ webhook_id: 'a', places: 3 }])
  })

  test('an idle lane is forgotten', () => {
    const lanes = createLanes(limits)
    start(lanes, ['a'])
    for (let i = 0; i < 3; i++) lanes.ended('a')
    assert.deepEqual(start(lanes, []), [{ webhook_id: 'a', places: 0 }])
    assert.equal(lanes.nextTurn(-1), Number.POSITIVE_INFINITY)
    assert.deepEqual(lanes.turns(1e9), [])
  })

  test('once closed, turns are for reports only', () => {
    const lanes = createLanes(limits)
    start(lanes, ['a'])
    lanes.ended('a')
    lanes.close()
    assert.deepEqual(start(lanes, ['a', 'b']), [{ webhook_id: 'a', places: 0 }])
  })

  test('whatever happens: limits hold, no place is lost, and who is due gets a turn', () => {
    const webhook = fc.integer({ min: 0, max: 6 }).map((n) => `w${n}`)
    const step = fc.oneof(
      fc.record({ kind: fc.constant('due' as const), webhook }),
      fc.record({ kind: fc.constant('look' as const), share: fc.double({ min: 0, max: 1, noNaN: true }) }),
      fc.record({ kind: fc.constant('end' as const), failed: fc.boolean() }),
    )
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const lanes = createLanes(limits)
        const running: string[] = []
        for (const event of steps) {
          if (event.kind === 'due') lanes.bringForward(event.webhook, 0)
          if (event.kind === 'look') {
            for (const turn of lanes.turns(0)) {
              const started = Math.round(event.share * turn.places)
              lanes.looked(turn, started)
              for (let i = 0; i < started; i++) running.push(turn.webhook_id)
            }
          }
          if (event.kind === 'end' && running.length > 0) {
            const webhook_id = running.shift() as string
            lanes.judge(webhook_id, event.failed)
            lanes.ended(webhook_id)
          }
          assert.ok(running.length <= limits.maxInFlight)
          for (const ids of Map.groupBy(running, (id) => id).values()) assert.ok(ids.length <= limits.maxPerEndpoint)
        }
        for (const webhook_id of running.splice(0)) {
          lanes.judge(webhook_id, false)
          lanes.ended(webhook_id)
        }
        for (const turn of lanes.turns(-1)) lanes.looked(turn, 0)
        const served = start(lanes, ['x', 'y', 'z', 'u'])
        const places = served.reduce((sum, turn) => sum + turn.places, 0)
        assert.equal(places, limits.maxInFlight, 'every place is free again')
      }),
    )
  })
})
