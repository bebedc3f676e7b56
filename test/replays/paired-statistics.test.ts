import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { bootstrapMean, mcNemar, median, wilson, worstSlices } from '../../src/lib/statistics/paired-statistics.ts'

const near = (found: number | undefined, wanted: number, within = 5e-5) =>
  assert.ok(Math.abs((found ?? Number.NaN) - wanted) < within, `${found} is not ${wanted}`)

describe('the statistics of pairs', () => {
  test("McNemar's exact test is the binomial test of the pairs that changed", () => {
    assert.equal(mcNemar(0, 0), 1)
    assert.equal(mcNemar(3, 3), 1)
    // 2 * (1/2)^n for changes in one direction only.
    near(mcNemar(5, 0), 0.0625, 1e-12)
    near(mcNemar(0, 6), 0.03125, 1e-12)
    // R: binom.test(8, 10)$p.value, binom.test(15, 20)$p.value and binom.test(60, 100)$p.value
    near(mcNemar(8, 2), 0.109375, 1e-12)
    near(mcNemar(5, 15), 0.04138947, 1e-8)
    near(mcNemar(60, 40), 0.05688793, 1e-8)
    const many = mcNemar(5_600, 4_400)
    assert.ok(many > 0 && many < 1e-30, 'large numbers neither overflow nor become 0')
  })

  test("Wilson's interval stays between 0 and 1 and is known for textbook values", () => {
    assert.equal(wilson(0, 0), undefined)
    const [none, half, most] = [wilson(0, 10), wilson(5, 10), wilson(81, 263)]
    assert.deepEqual([none?.value, none?.low], [0, 0])
    near(none?.high, 0.27753)
    near(half?.low, 0.23659)
    near(half?.high, 0.76341)
    // Newcombe, 1998: 81 of 263.
    near(most?.low, 0.2553)
    near(most?.high, 0.3662)
    assert.equal(wilson(10, 10)?.high, 1)
  })

  test('the bootstrap of equal values has no spread, and equal input has an equal result', () => {
    assert.equal(bootstrapMean([]), undefined)
    assert.deepEqual(bootstrapMean([2, 2, 2]), { value: 2, low: 2, high: 2 })
    const values = Array.from({ length: 200 }, (_, i) => (i * 7919) % 101)
    const found = bootstrapMean(values)
    assert.deepEqual(bootstrapMean([...values]), found)
    // Mean ± 1.96 standard errors, which the bootstrap comes close to with so many values.
    const mean = values.reduce((sum, one) => sum + one, 0) / values.length
    const variance = values.reduce((sum, one) => sum + (one - mean) ** 2, 0) / (values.length - 1)
    const error = Math.sqrt(variance / values.length)
    near(found?.low, mean - 1.96 * error, error / 5)
    near(found?.high, mean + 1.96 * error, error / 5)
  })

  test('the median is the middle, and the worst groups are those that lost most', () => {
    assert.equal(median([]), undefined)
    assert.equal(median([3, 1, 2]), 2)
    assert.equal(median([4, 1]), 2.5)
    const pairs = [
      { slices: ['a', 'a', 'b'], change: 'worse' as const },
      { slices: ['a'], change: 'same' as const },
      { slices: ['b'], change: 'better' as const },
      { slices: ['c'], change: 'worse' as const },
    ]
    const [a, c] = [
      { slice: 'a', pairs: 2, worse: 1, better: 0 },
      { slice: 'c', pairs: 1, worse: 1, better: 0 },
    ]
    assert.deepEqual(worstSlices(pairs, 5), [c, a])
    assert.deepEqual(worstSlices(pairs, 1), [c])
  })
})
