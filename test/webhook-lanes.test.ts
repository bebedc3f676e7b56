import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Lanes, type Look } from '../src/webhooks/delivery/lanes.ts'
import { fc } from './support/running/property.ts'

const limits = { maxInFlight: 10, maxPerEndpoint: 3 }

/** Everybody in `webhook_ids` has as much to send as may start. */
function start(lanes: Lanes<string>, webhook_ids: string[]): Look<string>[] {
  for (const webhook_id of webhook_ids) lanes.bringForward(webhook_id, 0)
  const looks = lanes.looks(0)
  for (const look of looks) lanes.looked(look, look.places)
  return looks
}

describe('lanes', () => {
  test('a few places each, as many as there are in all', () => {
    const lanes = new Lanes<string>(limits)
    assert.deepEqual(start(lanes, ['a', 'b', 'c', 'd', 'e']), [
      { webhook_id: 'a', places: 3, ended: [] },
      { webhook_id: 'b', places: 3, ended: [] },
      { webhook_id: 'c', places: 3, ended: [] },
      { webhook_id: 'd', places: 1, ended: [] },
    ])
    assert.deepEqual(start(lanes, ['a', 'b', 'c', 'd', 'e']), [])
    lanes.ended('a', 'first')
    assert.deepEqual(
      start(lanes, ['a']),
      [
        { webhook_id: 'e', places: 1, ended: [] },
        { webhook_id: 'a', places: 0, ended: ['first'] },
      ],
      'the place is for who has none, the look to report for who has ended',
    )
  })

  test('one place while the receiver fails, and half of all for those who fail', () => {
    const lanes = new Lanes<string>(limits)
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
      { webhook_id: 'healthy', places: 3, ended: [] },
      { webhook_id: 'well', places: 2, ended: [] },
    ])
    lanes.ended('b', 'first')
    assert.deepEqual(start(lanes, ['b']), [
      { webhook_id: 'f', places: 1, ended: [] },
      { webhook_id: 'b', places: 0, ended: ['first'] },
    ])
  })

  test('a wake-up while somebody looks is not lost', () => {
    const lanes = new Lanes<string>(limits)
    lanes.bringForward('a', 5)
    assert.deepEqual([lanes.looks(4), lanes.nextLook(4)], [[], 5])
    const [look] = lanes.looks(5) as [Look<string>]
    lanes.bringForward('a', 6)
    assert.deepEqual(lanes.looks(6), [], 'one look at a time')
    lanes.looked(look, 0)
    assert.deepEqual(lanes.looks(6), [{ webhook_id: 'a', places: 3, ended: [] }])
  })

  test('an idle lane is forgotten', () => {
    const lanes = new Lanes<string>(limits)
    start(lanes, ['a'])
    assert.equal(lanes.isIdle, false)
    for (const how of ['1', '2', '3']) lanes.ended('a', how)
    assert.equal(lanes.isIdle, false)
    assert.deepEqual(start(lanes, []), [{ webhook_id: 'a', places: 0, ended: ['1', '2', '3'] }])
    assert.equal(lanes.isIdle, true)
    assert.equal(lanes.nextLook(-1), Number.POSITIVE_INFINITY)
    assert.deepEqual(lanes.looks(1e9), [])
  })

  test('once closed, looks are for reports only', () => {
    const lanes = new Lanes<string>(limits)
    start(lanes, ['a'])
    lanes.ended('a', 'first')
    lanes.close()
    assert.deepEqual(start(lanes, ['a', 'b']), [{ webhook_id: 'a', places: 0, ended: ['first'] }])
  })

  test('whatever happens: limits hold, no place and no report is lost, and who is due gets a look', () => {
    const webhook = fc.integer({ min: 0, max: 6 }).map((n) => `w${n}`)
    const step = fc.oneof(
      fc.record({ kind: fc.constant('due' as const), webhook }),
      fc.record({ kind: fc.constant('look' as const), share: fc.double({ min: 0, max: 1, noNaN: true }) }),
      fc.record({ kind: fc.constant('end' as const), failed: fc.boolean() }),
    )
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const lanes = new Lanes<string>(limits)
        const running: string[] = []
        const reports: string[] = []
        const handedIn: string[] = []
        const end = (webhook_id: string, failed: boolean) => {
          reports.push(`report ${reports.length} of ${webhook_id}`)
          lanes.judge(webhook_id, failed)
          lanes.ended(webhook_id, reports.at(-1) as string)
        }
        for (const event of steps) {
          if (event.kind === 'due') lanes.bringForward(event.webhook, 0)
          if (event.kind === 'look') {
            for (const look of lanes.looks(0)) {
              const started = Math.round(event.share * look.places)
              lanes.looked(look, started)
              handedIn.push(...look.ended)
              for (let i = 0; i < started; i++) running.push(look.webhook_id)
            }
          }
          if (event.kind === 'end' && running.length > 0) end(running.shift() as string, event.failed)
          assert.ok(running.length <= limits.maxInFlight)
          for (const ids of Map.groupBy(running, (id) => id).values()) assert.ok(ids.length <= limits.maxPerEndpoint)
        }
        for (const webhook_id of running.splice(0)) end(webhook_id, false)
        for (const look of lanes.looks(-1)) {
          handedIn.push(...look.ended)
          lanes.looked(look, 0)
        }
        assert.deepEqual(handedIn.toSorted(), reports.toSorted(), 'each report is handed in once')
        assert.equal(lanes.isIdle, true)
        const served = start(lanes, ['x', 'y', 'z', 'u'])
        const places = served.reduce((sum, look) => sum + look.places, 0)
        assert.equal(places, limits.maxInFlight, 'every place is free again')
      }),
    )
  })
})
