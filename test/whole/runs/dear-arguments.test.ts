import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { SchemaCheck } from '../../../src/runtime/schemas/schema-check.ts'
import { schemaProblem } from '../../../src/runtime/schemas/schema-size.ts'
import { fieldsOf } from '../../support/clients/refusal.ts'
import { cpuTime } from '../../support/running/cpu-time.ts'
import { longestPass } from '../../support/running/longest-pass.ts'
import { withService } from '../../support/service/service.ts'

const many = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index))
const keyed = <T>(count: number, make: (index: number) => T) =>
  Object.fromEntries(many(count, (index) => [`k${index}`, make(index)]))
const property = (a: object) => ({ type: 'object', properties: { a } })

const OWNER = { lane: 'prj_1/agt_1' }
const SLOW_OWNER = { lane: 'prj_1/agt_slow' }

// The dearest schemas that the limits allow, each of another kind, with arguments of at most 64 KiB.
const DEAREST: Record<string, [schema: object, value: object]> = {
  'branches that fail': [
    property({ items: { anyOf: [...many(2_000, () => ({ type: 'string' })), {}] } }),
    { a: many(10_000, () => 1) },
  ],
  'branches that fit': [
    property({ items: { anyOf: many(2_000, (index) => ({ const: index })) } }),
    { a: many(10_000, () => 1) },
  ],
  'a large enum': [
    property({ items: { anyOf: [{ enum: many(4_000, (index) => `value ${index}`) }, {}] } }),
    { a: many(8_000, () => 'x') },
  ],
  'a long const': [property({ items: { anyOf: [{ const: 'x'.repeat(200_000) }, {}] } }), { a: many(8_000, () => 'x') }],
  'an object of many keys': [{ type: 'object', anyOf: many(1_000, () => ({ enum: ['a'] })) }, keyed(4_000, () => 1)],
  'keys that are not allowed': [
    { type: 'object', anyOf: many(1_000, () => ({ additionalProperties: false })) },
    keyed(20, () => 1),
  ],
  'long keys': [
    { type: 'object', anyOf: many(300, () => ({ additionalProperties: {} })) },
    Object.fromEntries(many(30, (index) => ['~/'.repeat(900) + index, 1])),
  ],
  'names of properties': [
    { type: 'object', anyOf: many(1_000, () => ({ propertyNames: { maxLength: 3 } })) },
    keyed(30, () => 1),
  ],
  'a long text': [property({ anyOf: many(1_500, () => ({ minLength: 70_000 })) }), { a: 'é'.repeat(60_000) }],
  'many properties': [
    property({ items: { properties: keyed(2_000, () => ({})), required: ['k0'] } }),
    { a: many(5_000, () => ({ k0: 1 })) },
  ],
  'many that are required': [
    property({ items: { anyOf: [{ required: many(2_000, (index) => `k${index}`) }, {}] } }),
    { a: many(10_000, () => ({})) },
  ],
  'numbers far apart': [
    property({ items: { anyOf: many(30, () => ({ multipleOf: 1e-300 })) } }),
    { a: many(2_500, () => 1.7976931348623157e308) },
  ],
  'items that are looked for': [
    property({ anyOf: many(500, () => ({ contains: { type: 'string' } })) }),
    { a: many(10_000, () => 1) },
  ],
  'references that double': [
    {
      type: 'object',
      $ref: '#/$defs/k0',
      $defs: keyed(40, (index) => ({ allOf: many(2, () => ({ $ref: `#/$defs/k${index + 1}` })) })),
    },
    {},
  ],
  'references to every level of a deep tree': [
    {
      ...property({
        anyOf: many(25, (depth) => ({ $ref: `#/$defs/deep${'/items'.repeat(depth)}` })),
      }),
      $defs: { deep: many(25, () => 0).reduce<object>((items) => ({ items }), { anyOf: many(4_500, () => ({})) }) },
    },
    { a: 1 },
  ],
  'a tree that doubles at each level': [
    {
      ...property({ $ref: '#/$defs/node' }),
      $defs: { node: { anyOf: many(2, () => ({ properties: { a: { $ref: '#/$defs/node' } } })) } },
    },
    many(30, () => 'a').reduce<object>((value, key) => ({ [key]: value }), {}),
  ],
}

describe('no check of tool arguments holds the event loop', () => {
  const check = new SchemaCheck()
  after(() => check.close())
  for (const [name, [schema, value]] of Object.entries(DEAREST)) {
    test(`${name}: less than 50 ms`, async () => {
      assert.equal(schemaProblem(schema), undefined)
      assert.ok(JSON.stringify(value).length <= 64 * 1024)
      // Of the processor, not of the clock: other tests run beside this one. A collection of garbage may come in between.
      let took = Number.POSITIVE_INFINITY
      for (let tries = 0; tries < 3 && took >= 50; tries++) {
        took = Math.min(took, await longestPass(() => check.check(schema, value, { ...OWNER, deadlineMs: 400 })))
      }
      assert.ok(took < 50, `${took} ms`)
    })
  }

  test('the many slow schemas of one agent do not delay the checks of another', async (t) => {
    const own = new SchemaCheck()
    t.after(() => own.close())
    const dear = property({ items: { anyOf: [...many(2_000, () => ({ type: 'string' })), { type: 'null' }] } })
    const backtracking = property({ pattern: '^(d+)+$' })
    const slow = many(40, (index) => [
      own.check({ ...dear, $comment: `${index}` }, { a: many(10_000, () => 1) }, SLOW_OWNER),
      own.check({ ...backtracking, $comment: `${index}` }, { a: `${'d'.repeat(60)}!` }, SLOW_OWNER),
    ])
    const others = [property({ type: 'string' }), property({ pattern: '^y', type: 'string' })]
    const answers = await Promise.all(others.map((schema) => own.check(schema, { a: 1 }, OWNER)))
    for (const answer of answers)
      assert.deepEqual(answer, { outcome: 'errors', errors: [{ at: '/a', problem: 'must be a string' }] })
    await own.close()
    await Promise.all(slow.flat())
  })
})

test('one request of a developer key does not freeze the service', async () => {
  await withService('sqlite', async ({ call }) => {
    const key = (await call('POST', '/v1/keys', { body: { name: 'dev', role: 'developer' } })).body.data.secret
    const tool = {
      type: 'http',
      name: 'bomb',
      url: 'https://example.com/',
      input_schema: property({ items: { anyOf: [...many(2_000, () => ({ type: 'string' })), { type: 'integer' }] } }),
    }
    const script = { rules: [{ call: { tool: 'bomb', arguments: { a: many(10_000, () => 1) } }, reply: 'over' }] }
    const body = { name: 'bomb', model: 'builtin/script', script, tools: [tool] }
    assert.equal((await call('POST', '/v1/agents', { key, body })).status, 201)

    const before = cpuTime()
    const { status, body: reply } = await call('POST', '/v1/agents/bomb/invoke', { key, body: { message: 'go' } })
    const took = cpuTime() - before
    assert.equal(status, 200, JSON.stringify(reply))
    assert.ok(took < 1_000, `${took} ms`)

    const large = { ...tool, input_schema: property({ enum: many(5_000, String) }) }
    for (const [method, path, sent] of [
      ['POST', '/v1/agents', { name: 'large', tools: [large] }],
      ['PATCH', '/v1/agents/bomb', { tools: [large] }],
    ] as const) {
      const refused = await call(method, path, { key, body: sent })
      assert.equal(refused.status, 400)
      assert.deepEqual(fieldsOf(refused.body), ['tools.0.input_schema'])
    }
  })
})
