import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { grant, type Room, usedOf } from '../../src/budgets/desk/grant.ts'

/** mulberry32: the same numbers for the same seed. */
function seeded(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296) * below)
  }
}

const KINDS = ['cost_usd', 'tokens', 'runs'] as const

describe('granting amounts from budgets', () => {
  test('used and reserved amounts never exceed a limit, and end up as the sum of all calls', () => {
    for (let seed = 1; seed <= 300; seed++) {
      const random = seeded(seed)
      const rooms: Room[] = Array.from({ length: 1 + random(4) }, () => {
        const limit_kind = KINDS[random(3)] ?? 'runs'
        const amount = limit_kind === 'runs' ? 1 + random(20) : 100 + random(20_000)
        return { budget: { limit_kind, amount, action: 'refuse' }, used: 0, reserved: 0 }
      })
      const sums = rooms.map(() => 0)
      const open: { held: number[]; input_tokens: number; output_tokens: number; rate: number }[] = []
      const settle = () => {
        const [call] = open.splice(random(open.length), 1)
        if (!call) return
        const [input_tokens, output_tokens] = [random(call.input_tokens + 1), random(call.output_tokens + 1)]
        const used = { input_tokens, output_tokens, cost_nano: (input_tokens + 2 * output_tokens) * call.rate }
        for (const [i, room] of rooms.entries()) {
          const held = call.held[i] ?? 0
          room.reserved -= held
          room.used += usedOf(room.budget, used, held)
          sums[i] = (sums[i] ?? 0) + usedOf(room.budget, used, held)
        }
      }
      for (let step = 0; step < 100; step++) {
        if (random(3) === 0) settle()
        const rate = random(3)
        const estimate = { input_tokens: random(500), output_tokens: random(2_000), may_cut: random(2) === 0 }
        const mostCost = (input: number, output: number) => (input + 2 * output) * rate
        const granted = grant({ ...estimate, mostCost }, rooms)
        if (!('held' in granted)) continue
        assert.ok(granted.output_tokens <= estimate.output_tokens)
        assert.ok(granted.output_tokens === estimate.output_tokens || (estimate.may_cut && granted.output_tokens >= 16))
        for (const [i, room] of rooms.entries()) room.reserved += granted.held[i] ?? 0
        open.push({ ...granted, input_tokens: estimate.input_tokens, rate })
        for (const { budget, used, reserved } of rooms) assert.ok(used + reserved <= budget.amount, `seed ${seed}`)
      }
      while (open.length > 0) settle()
      assert.deepEqual(
        rooms.map(({ used, reserved }) => [used, reserved]),
        sums.map((sum) => [sum, 0]),
      )
    }
  })

  test('an answer that fits is not cut, and a longer one is cut to what fits', () => {
    const room = {
      budget: { limit_kind: 'tokens' as const, amount: 1_000, action: 'refuse' as const },
      used: 500,
      reserved: 100,
    }
    const estimate = { input_tokens: 100, may_cut: true, mostCost: () => null }
    assert.deepEqual(grant({ ...estimate, output_tokens: 300 }, [room]), { output_tokens: 300, held: [400] })
    assert.deepEqual(grant({ ...estimate, output_tokens: 301 }, [room]), { output_tokens: 300, held: [400] })
    const lacking = [{ room, wanted: 401 }]
    assert.deepEqual(grant({ ...estimate, output_tokens: 301, may_cut: false }, [room]), { lacking })
  })

  test('a budget in dollars refuses a call without a price', () => {
    const room = {
      budget: { limit_kind: 'cost_usd' as const, amount: 1, action: 'refuse' as const },
      used: 0,
      reserved: 0,
    }
    const estimate = { input_tokens: 1, output_tokens: 1, may_cut: false, mostCost: () => null }
    assert.deepEqual(grant(estimate, [room]), { unpriced: room })
  })
})
