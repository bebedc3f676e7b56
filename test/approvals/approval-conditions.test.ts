import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { needsApproval, ToolApproval } from '../../src/runtime/approvals/approval-policy.ts'

/** A condition without its argument `x`, the arguments that need an approval, and those that do not. */
const TABLE: { condition: object; asks: object[]; passes: object[] }[] = [
  { condition: { equals: 'EUR' }, asks: [{ x: 'EUR' }], passes: [{ x: 'eur' }, { x: ['EUR'] }, {}] },
  { condition: { equals: 5 }, asks: [{ x: 5 }, { x: 5.0 }], passes: [{ x: '5' }, { x: 6 }, {}] },
  { condition: { equals: true }, asks: [{ x: true }], passes: [{ x: 'true' }, { x: 1 }, {}] },
  { condition: { equals: null }, asks: [{ x: null }], passes: [{ x: 0 }, { x: '' }, {}] },
  { condition: { not_equals: 'EUR' }, asks: [{ x: 'USD' }, { x: null }, {}], passes: [{ x: 'EUR' }] },
  { condition: { in: ['a', 1] }, asks: [{ x: 'a' }, { x: 1 }], passes: [{ x: 'b' }, { x: '1' }, {}] },
  { condition: { not_in: ['a', 1] }, asks: [{ x: 'b' }, { x: '1' }, {}], passes: [{ x: 'a' }, { x: 1 }] },
  {
    condition: { greater_than: 100 },
    asks: [{ x: 100.01 }, { x: '1' }, { x: null }, { x: [1] }, {}],
    passes: [{ x: 100 }, { x: -101 }],
  },
  {
    condition: { less_than: 0 },
    asks: [{ x: -1 }, { x: '1' }, { x: { y: 1 } }, {}],
    passes: [{ x: 0 }, { x: 1 }],
  },
  {
    condition: { greater_than: 10, less_than: 20 },
    asks: [{ x: 11 }, { x: '50' }],
    passes: [{ x: 10 }, { x: 20 }],
  },
  {
    condition: { argument: 'order.total.amount', greater_than: 100 },
    asks: [
      { order: { total: { amount: 101 } } },
      { order: { total: 101 } },
      { order: null },
      { 'order.total.amount': 1 },
    ],
    passes: [{ order: { total: { amount: 100 } } }],
  },
  {
    condition: { argument: 'lines.0.sku', equals: 'gold' },
    asks: [{ lines: [{ sku: 'gold' }] }],
    passes: [{ lines: [{ sku: 'tin' }, { sku: 'gold' }] }, { lines: [] }],
  },
  // Inherited properties are not arguments.
  { condition: { argument: 'constructor.name', equals: 'Object' }, asks: [], passes: [{}] },
]

describe('a condition of `approval`', () => {
  for (const { condition, asks, passes } of TABLE) {
    const approval = ToolApproval.parse({ when: [{ argument: 'x', ...condition }] })
    for (const [args, expected] of [
      ...asks.map((one) => [one, true] as const),
      ...passes.map((one) => [one, false] as const),
    ]) {
      const says = expected ? 'asks' : 'does not ask'
      test(`${JSON.stringify(condition)} ${says} for ${JSON.stringify(args)}`, () => {
        assert.equal(needsApproval(approval, { ...args }), expected)
      })
    }
  }

  test('one true condition is enough; always and never need no condition', () => {
    const approval = ToolApproval.parse({
      when: [
        { argument: 'amount', greater_than: 100 },
        { argument: 'currency', not_in: ['EUR'] },
      ],
    })
    assert.equal(needsApproval(approval, { amount: 1, currency: 'EUR' }), false)
    assert.equal(needsApproval(approval, { amount: 1, currency: 'USD' }), true)
    assert.equal(needsApproval(approval, { amount: 101, currency: 'EUR' }), true)
    assert.equal(needsApproval('always', {}), true)
    assert.equal(needsApproval('never', {}), false)
    assert.equal(needsApproval(ToolApproval.parse({ expires_after_seconds: 60 }), {}), true)
  })

  test('400 for a condition without a comparison, or that compares with something other than a value', () => {
    const wrong = [
      { argument: 'x' },
      { argument: 'x', equals: {} },
      { argument: 'x', greater_than: '1' },
      { equals: 1 },
    ]
    for (const one of [...wrong, { argument: 'x', matches: '.*' }, { argument: 'x', in: [] }]) {
      assert.equal(ToolApproval.safeParse({ when: [one] }).success, false, JSON.stringify(one))
    }
  })
})
