import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ArgumentCheck } from '../src/runtime/tools/argument-check.ts'
import { schemaProblem } from '../src/runtime/tools/input-schema.ts'
import { cpuTime } from './support/running/cpu-time.ts'
import { withService } from './support/service/service.ts'

const check = new ArgumentCheck()
const problemOf = (value: object, schema: object) => check.problemOf(value as Record<string, unknown>, schema)

const many = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index))
const keyed = <T>(count: number, make: (index: number) => T) =>
  Object.fromEntries(many(count, (index) => [`k${index}`, make(index)]))
const property = (a: object) => ({ type: 'object', properties: { a } })

describe('the check of tool arguments', () => {
  const schema = {
    type: 'object',
    required: ['city'],
    additionalProperties: false,
    properties: {
      city: { type: 'string', minLength: 1, maxLength: 5 },
      days: { type: 'integer', minimum: 1, exclusiveMaximum: 8 },
      unit: { enum: ['C', 'F'] },
      tags: { type: 'array', maxItems: 2, items: { type: 'string' } },
      at: { anyOf: [{ type: 'null' }, { type: 'object', required: ['lat'] }] },
      kind: { const: 'now' },
      place: { type: 'array', prefixItems: [{ type: 'number' }, { type: 'string' }], items: false },
      tree: { $ref: '#/$defs/tree' },
      color: { oneOf: [{ type: 'integer' }, { minimum: 5 }], not: { const: 3 } },
    },
    $defs: {
      tree: {
        type: 'object',
        required: ['value'],
        properties: { value: { type: 'integer' }, below: { type: 'array', items: { $ref: '#/$defs/tree' } } },
      },
    },
  }

  const fits: Record<string, unknown>[] = [
    { city: 'Ålesu', days: 7, unit: 'C', tags: ['a', 'b'], at: null, kind: 'now' },
    { city: 'x', at: { lat: 1 } },
    { city: 'x', place: [59.9, 'Oslo'] },
    { city: 'x', tree: { value: 1, below: [{ value: 2 }, { value: 3, below: [{ value: 4 }] }] } },
    { city: 'x', color: 4 },
  ]
  for (const value of fits) {
    test(`takes ${JSON.stringify(value)}`, async () => assert.equal(await problemOf(value, schema), undefined))
  }

  const refused: [string, string][] = [
    ['{}', 'arguments: Instance does not have required property "city".'],
    ['{"city":7}', 'arguments.city: Instance type "number" is invalid. Expected "string".'],
    ['{"city":""}', 'arguments.city: String is too short (0 < 1).'],
    ['{"city":"abcdef"}', 'arguments.city: String is too long (6 > 5).'],
    ['{"city":"x","days":1.5}', 'arguments.days: Instance type "number" is invalid. Expected "integer".'],
    ['{"city":"x","days":0}', 'arguments.days: 0 is less than 1.'],
    ['{"city":"x","days":8}', 'arguments.days: 8 is greater than or equal to 8.'],
    ['{"city":"x","unit":"K"}', 'arguments.unit: Instance does not match any of ["C","F"].'],
    ['{"city":"x","tags":["a","b","c"]}', 'arguments.tags: Array has too many items (3 > 2).'],
    ['{"city":"x","tags":["a",1]}', 'arguments.tags[1]: Instance type "number" is invalid. Expected "string".'],
    ['{"city":"x","at":{}}', 'arguments.at: Instance type "object" is invalid. Expected "null".'],
    ['{"city":"x","kind":"then"}', 'arguments.kind: Instance does not match "now".'],
    ['{"city":"x","extra":1}', 'arguments: Property "extra" does not match additional properties schema.'],
    ['{"city":"x","toString":1}', 'arguments: Property "toString" does not match additional properties schema.'],
    ['{"city":"x","__proto__":1}', 'arguments: Property "__proto__" does not match additional properties schema.'],
    ['{"city":"x","place":["Oslo"]}', 'arguments.place[0]: Instance type "string" is invalid. Expected "number".'],
    ['{"city":"x","place":[1,"a",2]}', 'arguments.place[2]: is not allowed'],
    [
      '{"city":"x","tree":{"value":1,"below":[{"value":"2"}]}}',
      'arguments.tree.below[0].value: Instance type "string" is invalid. Expected "integer".',
    ],
    ['{"city":"x","color":3}', 'arguments.color: Instance matched "not" schema.'],
  ]
  for (const [value, problem] of refused) {
    test(`refuses ${value}`, async () => assert.equal(await problemOf(JSON.parse(value), schema), problem))
  }

  test('exactly one of oneOf', async () => {
    assert.match((await problemOf({ city: 'x', color: 7 }, schema)) ?? '', /exactly one subschema/)
  })

  test('what is not checked passes, also where it stands under not, if and oneOf', async () => {
    const evil = { pattern: '^(a+)+$', uniqueItems: true, $dynamicRef: '#x', unevaluatedProperties: false }
    const value = { a: `${'a'.repeat(50)}!` }
    for (const lenient of [
      evil,
      { not: evil },
      JSON.parse(`{"if": ${JSON.stringify(evil)}, "then": false}`),
      { oneOf: [evil, {}], anyOf: [{ type: 'string' }] },
      { not: { $ref: '#/$defs/evil' } },
      { not: { $ref: 'https://example.com/schema' } },
      { not: { const: { an: 'object' } } },
      { type: 'colour' },
      { required: 'x', enum: 7, properties: [] },
    ]) {
      const whole = { ...property(lenient), $defs: { evil } }
      assert.equal(await problemOf(value, whole), undefined, JSON.stringify(lenient))
    }
    const named = { type: 'object', patternProperties: { '^x-': {} }, additionalProperties: false }
    assert.equal(await problemOf({ 'x-a': 1 }, named), undefined)
    // What stands beside it is still checked.
    const beside = property({ type: 'number', oneOf: [{ pattern: 'x' }, {}] })
    assert.equal(await problemOf(value, beside), 'arguments.a: Instance type "string" is invalid. Expected "number".')
    const either = property({ pattern: 'x', oneOf: [{ type: 'number' }, { type: 'null' }], allOf: [{}] })
    assert.equal(await problemOf(value, either), 'arguments.a: Instance type "string" is invalid. Expected "number".')
  })

  test('references that lead in a circle end', async () => {
    const circle = { type: 'object', anyOf: [{ $ref: '#' }] }
    assert.match((await problemOf({}, circle)) ?? '', /too much to be checked/)
  })
})

describe('the size of a schema', () => {
  test('is limited in values, text and depth', () => {
    let deep: object = {}
    for (let depth = 0; depth < 40; depth += 1) deep = { properties: { a: deep } }
    assert.equal(schemaProblem(property({ enum: many(4_000, String) })), undefined)
    assert.equal(
      schemaProblem(property({ enum: many(5_000, String) })),
      'may hold at most 5000 values, nested ones included',
    )
    assert.equal(schemaProblem({ description: 'x'.repeat(300_000) }), 'may hold at most 256 KiB of text')
    assert.equal(schemaProblem({ ['x'.repeat(300_000)]: 1 }), 'may hold at most 256 KiB of text')
    assert.equal(schemaProblem(deep), 'may be nested at most 64 deep')
  })

  test('a tool that got past the limit is not called, and says why', async () => {
    const large = property({ enum: many(5_000, String) })
    assert.match((await problemOf({}, large)) ?? '', /^the input_schema of this tool may hold at most 5000 values/)
  })
})

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

describe('no check holds the event loop', () => {
  for (const [name, [schema, value]] of Object.entries(DEAREST)) {
    test(`${name}: less than 50 ms`, async () => {
      assert.equal(schemaProblem(schema), undefined)
      assert.ok(JSON.stringify(value).length <= 64 * 1024)
      // Of the processor, not of the clock: other tests run beside this one. A collection of garbage may come in between.
      const took: number[] = []
      for (let i = 0; i < 5; i++) {
        const before = cpuTime()
        await problemOf(value, schema)
        took.push(cpuTime() - before)
      }
      assert.ok(Math.min(...took) < 50, `${took.join()} ms`)
    })
  }

  test('costly checks take turns', async () => {
    const schema = property({ items: { anyOf: many(100, (index) => ({ const: index })) } })
    let between = 0
    let done = false
    const tick = () => {
      between += 1
      if (!done) setImmediate(tick)
    }
    setImmediate(tick)
    await Promise.all(many(16, () => problemOf({ a: many(60, () => 1) }, schema)))
    done = true
    assert.ok(between >= 16, `${between} turns of the loop`)
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
    const script = { rules: [{ call: { tool: 'bomb', arguments: { a: many(10_000, () => 1) } } }] }
    const body = { name: 'bomb', model: 'builtin/script', script, tools: [tool] }
    assert.equal((await call('POST', '/v1/agents', { key, body })).status, 201)

    const before = cpuTime()
    const { status, body: reply } = await call('POST', '/v1/agents/bomb/invoke', { key, body: { message: 'go' } })
    const took = cpuTime() - before
    assert.equal(status, 200, JSON.stringify(reply))
    assert.ok(took < 2_000, `${took} ms`)

    const large = { ...tool, input_schema: property({ enum: many(5_000, String) }) }
    for (const [method, path, sent] of [
      ['POST', '/v1/agents', { name: 'large', tools: [large] }],
      ['PATCH', '/v1/agents/bomb', { tools: [large] }],
    ] as const) {
      const refused = await call(method, path, { key, body: sent })
      assert.equal(refused.status, 400)
      assert.deepEqual(refused.body.error.details, [
        { field: 'tools.0.input_schema', error: 'may hold at most 5000 values, nested ones included' },
      ])
    }
  })
})
