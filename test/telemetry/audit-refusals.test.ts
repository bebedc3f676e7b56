import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type Refusal, refusalTally, type Tally } from '../../src/audit/trail.ts'

const MINUTE = 60_000

function refusal(more: Partial<Refusal> = {}): Refusal {
  return {
    code: 'unauthorized',
    actor: null,
    action: 'listAgents',
    project_id: 'prj_default',
    agent_id: null,
    target: null,
    request_id: 'req_1',
    address: '192.0.2.1',
    ...more,
  }
}

function newTally() {
  const written: Tally[] = []
  const tally = refusalTally((entry) => written.push({ ...entry }))
  return { ...tally, written, summary: () => written.map(({ times }) => times) }
}

describe('refused requests within a minute', () => {
  test('the first is logged immediately, and the others as one entry when the minute is over', () => {
    const { add, written, summary } = newTally()
    for (let i = 0; i < 10; i++) add(refusal({ request_id: `req_${i}` }), 1000 + i)
    assert.deepEqual(summary(), [1])
    add(refusal(), MINUTE)
    assert.deepEqual(summary(), [1, 9, 1])
    assert.deepEqual([written[1]?.time, written[1]?.refusal.request_id], [1001, 'req_1'])
  })

  test('unknown callers are grouped by address (IPv6: /64) and error code, not by what they requested', () => {
    const { add, summary } = newTally()
    for (const action of ['listAgents', 'getAgent', null]) add(refusal({ action }), 0)
    assert.deepEqual(summary(), [1])
    add(refusal({ address: '192.0.2.2' }), 0)
    add(refusal({ code: 'forbidden' }), 0)
    for (const last of ['1', '2']) add(refusal({ address: `2001:db8::${last}` }), 0)
    assert.deepEqual(summary(), [1, 1, 1, 1])
  })

  test('known callers are logged separately by what they requested', () => {
    const { add, summary } = newTally()
    const actor = { kind: 'key', id: 'key_1' } as const
    for (const action of ['deleteAgent', 'updateAgent', 'deleteAgent']) add(refusal({ actor, action }), 0)
    assert.deepEqual(summary(), [1, 1])
  })

  test('beyond three hundred groups, there is one for each error code, without names', () => {
    const { add, flush, written } = newTally()
    for (let i = 0; i < 5_000; i++) add(refusal({ address: `10.0.${i >> 8}.${i & 255}` }), 0)
    flush()
    assert.equal(written.length, 302)
    assert.equal(
      written.reduce((sum, { times }) => sum + times, 0),
      5_000,
    )
    const crowd = written.at(-1)
    assert.deepEqual([crowd?.times, crowd?.refusal.address, crowd?.refusal.action], [4_699, null, null])
  })

  test('a minute that is over is logged without another refusal, and a clock set back loses nothing', () => {
    const { add, turnMinute, flush, summary } = newTally()
    add(refusal(), 5 * MINUTE)
    add(refusal(), 5 * MINUTE)
    turnMinute(5 * MINUTE + 59_999)
    assert.deepEqual(summary(), [1])
    turnMinute(6 * MINUTE)
    assert.deepEqual(summary(), [1, 1])
    add(refusal(), 3 * MINUTE)
    add(refusal(), 3 * MINUTE)
    add(refusal(), 2 * MINUTE)
    flush()
    assert.deepEqual(summary(), [1, 1, 1, 1, 1])
  })
})
