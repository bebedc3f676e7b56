import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { CheckThread } from '../../src/runtime/schemas/check-thread.ts'
import { SchemaCheck } from '../../src/runtime/schemas/schema-check.ts'
import { schemaProblem } from '../../src/runtime/schemas/schema-size.ts'
import { argumentProblem } from '../../src/runtime/tools/argument-problem.ts'
import { cpuTimeOf } from '../support/running/cpu-time.ts'
import { PATIENCE } from '../support/running/patience.ts'
import { startChild } from '../support/service/child.ts'

const check = new SchemaCheck()
after(() => check.close())
const problemOf = (value: object, schema: object, schemaCheck: Pick<SchemaCheck, 'check'> = check) =>
  argumentProblem(value as Record<string, unknown>, schema, { schemaCheck, project_id: 'prj_1', agent_id: 'agt_1' })
/** Waits less for checks that never end. */
const hurried: Pick<SchemaCheck, 'check'> = {
  check: (schema, value, checking) => check.check(schema, value, { ...checking, deadlineMs: 400 }),
}

const OWNER = { lane: 'prj_1/agt_1' }
const SLOW_OWNER = { lane: 'prj_1/agt_slow' }

const many = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index))
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
    ['{}', 'arguments: must have the property "city"'],
    ['{"city":7}', 'arguments.city: must be a string'],
    ['{"city":""}', 'arguments.city: must have at least 1 character'],
    ['{"city":"abcdef"}', 'arguments.city: must have at most 5 characters'],
    ['{"city":"x","days":1.5}', 'arguments.days: must be a whole number'],
    ['{"city":"x","days":0}', 'arguments.days: must be at least 1'],
    ['{"city":"x","days":8}', 'arguments.days: must be less than 8'],
    ['{"city":"x","unit":"K"}', 'arguments.unit: must be one of "C", "F"'],
    ['{"city":"x","tags":["a","b","c"]}', 'arguments.tags: must have at most 2 items'],
    ['{"city":"x","tags":["a",1]}', 'arguments.tags[1]: must be a string'],
    ['{"city":"x","at":{}}', 'arguments.at: must be null'],
    ['{"city":"x","kind":"then"}', 'arguments.kind: must be "now"'],
    ['{"city":"x","extra":1}', 'arguments: must not have the property "extra"'],
    ['{"city":"x","toString":1}', 'arguments: must not have the property "toString"'],
    ['{"city":"x","__proto__":1}', 'arguments: must not have the property "__proto__"'],
    ['{"city":"x","place":["Oslo"]}', 'arguments.place[0]: must be a number'],
    ['{"city":"x","place":[1,"a",2]}', 'arguments.place: must have at most 2 items'],
    [
      '{"city":"x","tree":{"value":1,"below":[{"value":"2"}]}}',
      'arguments.tree.below[0].value: must be a whole number',
    ],
    ['{"city":"x","color":3}', 'arguments.color: must NOT be valid'],
  ]
  for (const [value, problem] of refused) {
    test(`refuses ${value}`, async () => assert.equal(await problemOf(JSON.parse(value), schema), problem))
  }

  test('exactly one of oneOf', async () => {
    assert.equal(
      await problemOf({ city: 'x', color: 7 }, schema),
      'arguments.color: must match exactly one schema in oneOf',
    )
  })

  // [the schema of `a`, a valid value, an invalid value]
  const everyKeyword: [object, unknown, unknown][] = [
    [{ pattern: '^[A-Z]{2}\\d+$' }, 'NO7', 'no7'],
    [{ uniqueItems: true }, [1, '1', { a: 1 }], [{ a: 1 }, { a: 1 }]],
    [{ patternProperties: { '^x-': { type: 'number' } }, additionalProperties: false }, { 'x-a': 1 }, { 'x-a': '1' }],
    [{ const: { an: ['object'] } }, { an: ['object'] }, { an: ['other'] }],
    [{ not: { pattern: '^no' } }, 'yes', 'no'],
    [
      JSON.parse('{"if": {"pattern": "^[0-9]+$"}, "then": {"maxLength": 3}, "else": {"maxLength": 5}}'),
      'abcde',
      '12345',
    ],
    [{ oneOf: [{ pattern: '^a' }, { pattern: 'b$' }] }, 'ax', 'ab'],
    [
      { allOf: [{ properties: { b: {} } }, { properties: { c: {} } }], unevaluatedProperties: false },
      { b: 1, c: 1 },
      { d: 1 },
    ],
    [{ dependentRequired: { b: ['c'] } }, { b: 1, c: 1 }, { b: 1 }],
    [{ contains: { const: 1 }, maxContains: 1 }, [1, 2], [1, 1]],
    [{ items: [{ type: 'number' }], additionalItems: false }, [1], [1, 2]],
  ]
  for (const [said, fitting, wrong] of everyKeyword) {
    test(`holds ${JSON.stringify(said)}`, async () => {
      // Keywords next to it are checked, too.
      const whole = { ...property(said), not: { required: ['never'] } }
      assert.equal(await problemOf({ a: fitting }, whole), undefined)
      assert.match((await problemOf({ a: wrong }, whole)) ?? 'it passed', /^arguments\.a/)
      assert.equal(await problemOf({ a: fitting, never: 1 }, whole), 'arguments: must NOT be valid')
    })
  }

  test('a schema that says an older draft is read as that', async () => {
    const seven = { $schema: 'http://json-schema.org/draft-07/schema#' }
    const whole = { ...seven, ...property({ items: [{ type: 'number' }, { type: 'string' }] }) }
    assert.equal(await problemOf({ a: [1, 'x'] }, whole), undefined)
    assert.equal(await problemOf({ a: [1, 2] }, whole), 'arguments.a[1]: must be a string')
  })

  test('a name that a JSON pointer escapes is reported as it is', async () => {
    const numbers = property({ additionalProperties: { type: 'number' } })
    for (const name of ['a/b', 'a~b', 'a~1b', 'a~0b']) {
      assert.equal(await problemOf({ a: { [name]: 'x' } }, numbers), `arguments.a.${name}: must be a number`)
    }
  })

  test('a schema that is itself wrong, or needs another document, refuses nothing', async () => {
    for (const wrong of [
      { type: 'colour' },
      { required: 'x' },
      { enum: 7 },
      { pattern: '(' },
      { $ref: 'https://example.com/schema' },
      { not: { $ref: 'https://example.com/schema' } },
    ]) {
      assert.equal(await problemOf({ a: 1 }, property(wrong)), undefined, JSON.stringify(wrong))
    }
  })

  test('format describes a value and refuses none', async () => {
    assert.equal(await problemOf({ a: 'tomorrow' }, property({ format: 'date-time' })), undefined)
  })

  test('references that lead in a circle end, and refuse nothing', async () => {
    const circle = { type: 'object', anyOf: [{ $ref: '#' }] }
    assert.equal(await problemOf({}, circle), undefined)
    assert.deepEqual(await check.check(circle, {}, OWNER), { outcome: 'undecided', why: 'schema' })
  })

  test('a schema with ids of its own inside, which the checker cannot follow, refuses nothing', async () => {
    // From the JSON Schema Test Suite, ref.json: "refs with relative uris and defs".
    const nested = {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      $id: 'http://example.com/schema-relative-uri-defs1.json',
      properties: {
        foo: {
          $id: 'schema-relative-uri-defs2.json',
          $defs: { inner: { properties: { bar: { type: 'string' } } } },
          $ref: '#/$defs/inner',
        },
      },
      $ref: 'schema-relative-uri-defs2.json',
    }
    assert.doesNotMatch((await problemOf({ foo: { bar: 'a' }, bar: 'a' }, nested)) ?? '', /took too long/)
  })

  test('arguments that are nested too deep for the checker are refused as such', async () => {
    const tree = { type: 'object', properties: { below: { $ref: '#' } } }
    let deep: object = {}
    for (let depth = 0; depth < 5_000; depth += 1) deep = { below: deep }
    assert.equal(await problemOf(deep, tree), 'arguments: must be nested at most 100 levels deep')
  })
})

describe('the size of a schema', () => {
  test('is limited in values, text and depth', () => {
    let deep: object = {}
    for (let depth = 0; depth < 40; depth += 1) deep = { properties: { a: deep } }
    assert.equal(schemaProblem(property({ enum: many(4_000, String) })), undefined)
    assert.equal(
      schemaProblem(property({ enum: many(5_000, String) })),
      'can contain at most 5000 values, including nested ones',
    )
    assert.equal(schemaProblem({ description: 'x'.repeat(300_000) }), 'can contain at most 256 KiB of text')
    assert.equal(schemaProblem({ ['x'.repeat(300_000)]: 1 }), 'can contain at most 256 KiB of text')
    assert.equal(schemaProblem(deep), 'can be nested at most 64 levels deep')
  })

  test('a tool that got past the limit is not called, and says why', async () => {
    const large = property({ enum: many(5_000, String) })
    assert.match((await problemOf({}, large)) ?? '', /^the input_schema of this tool can contain at most 5000 values/)
  })
})

describe('a slow check', () => {
  test('an endless pattern is aborted, and the next check works', async () => {
    const evil = property({ pattern: '^(a+)+$' })
    const bomb = { a: `${'a'.repeat(60)}!` }
    assert.equal(await problemOf(bomb, evil), "checking them against the tool's input_schema took too long")
    assert.equal(await problemOf({ a: 'aaa' }, evil), undefined)
    assert.equal(await problemOf({ a: 1 }, property({ type: 'string' })), 'arguments.a: must be a string')
  })

  test('a check that waits for an endless pattern is done when that is aborted, long before its own deadline', async (t) => {
    const own = new SchemaCheck()
    t.after(() => own.close())
    const evil = property({ pattern: '^(d+)+$' })
    const bomb = { a: `${'d'.repeat(60)}!` }
    const endless = own.check(evil, bomb, { ...SLOW_OWNER, deadlineMs: 60_000 * PATIENCE })
    const behind = own.check(evil, { a: 'ddd' }, { ...OWNER, deadlineMs: 30_000 * PATIENCE })
    assert.deepEqual(await behind, { outcome: 'ok' })
    assert.deepEqual(await endless, { outcome: 'undecided', why: 'time' })
  })

  test('while one schema runs endlessly, others are checked', async (t) => {
    const own = new SchemaCheck()
    t.after(() => own.close())
    const evil = property({ pattern: '^(b+)+$' })
    const bomb = { a: `${'b'.repeat(60)}!` }
    await own.check(evil, bomb, { ...SLOW_OWNER, deadlineMs: 300 })
    // Both threads are running by now, so what follows takes only moments.
    await own.check(property({ maxLength: 9 }), { a: 'x' }, OWNER)
    let isHeld = true
    const held = own.check(evil, bomb, SLOW_OWNER).finally(() => {
      isHeld = false
    })
    assert.deepEqual(await own.check(property({ maxLength: 0 }), { a: 'x' }, OWNER), {
      outcome: 'errors',
      errors: [{ at: '/a', problem: 'must have at most 0 characters' }],
    })
    assert.ok(isHeld, 'the other check goes on')
    await own.close()
    await held
  })

  test("the owner of a slow schema can't use the fast thread for a minute", async (t) => {
    const own = new SchemaCheck()
    t.after(() => own.close())
    const runsFor = performance.now.bind(performance)
    let longer = 3_600_000
    t.mock.method(performance, 'now', () => runsFor() + longer)
    let threads = 0
    t.mock.method(CheckThread.prototype, 'check', async () => {
      threads++
      return { answer: { outcome: 'undecided', why: 'time' }, ran_ms: 200 }
    })
    const triedOn = async ($comment: string, checking: { lane: string }) => {
      threads = 0
      await own.check({ $comment }, {}, checking)
      return threads
    }
    assert.equal(await triedOn('first', SLOW_OWNER), 2)
    assert.equal(await triedOn('second', SLOW_OWNER), 1)
    assert.equal(await triedOn('of another', OWNER), 2)
    longer += 61_000
    assert.equal(await triedOn('third', SLOW_OWNER), 2)
  })

  test('a check has its whole time on a machine that is busy with other programs', async (t) => {
    const pattern = '^(e+)+$'
    const textOf = (length: number) => `${'e'.repeat(length)}!`
    const msOf = (length: number) => cpuTimeOf(() => new RegExp(pattern, 'u').test(textOf(length)))
    let length = 16
    while (msOf(length) < 50) length++
    const others = many(12, () => startChild('sh', ['-c', 'while :; do :; done'], { stdio: 'ignore' }))
    const thread = new CheckThread()
    t.after(async () => {
      for (const other of others) other.kill('SIGKILL')
      await thread.close()
    })
    const request = (value: unknown) => ({
      schema: JSON.stringify(property({ pattern })),
      value: JSON.stringify(value),
    })
    const patience = { runMs: 5 * msOf(length), waitMs: 60_000 * PATIENCE }
    await thread.check(OWNER.lane, request({ a: 'e' }), patience)
    const { answer } = await thread.check(OWNER.lane, request({ a: textOf(length) }), patience)
    assert.equal(answer.outcome, 'errors')
  })

  test('a check that has to wait fails at its deadline', async () => {
    const evil = property({ pattern: '^(c+)+$' })
    const bomb = { a: `${'c'.repeat(60)}!` }
    await problemOf(bomb, evil, hurried)
    const answers = await Promise.all(many(5, () => check.check(evil, bomb, { ...OWNER, deadlineMs: 300 })))
    for (const answer of answers) assert.deepEqual(answer, { outcome: 'undecided', why: 'time' })
  })

  test('all errors are returned on request', async () => {
    const both = { type: 'object', required: ['a'], properties: { b: { type: 'string' } } }
    assert.deepEqual(await check.check(both, { b: 1 }, OWNER), {
      outcome: 'errors',
      errors: [
        { at: '', problem: 'must have the property "a"' },
        { at: '/b', problem: 'must be a string' },
      ],
    })
    assert.deepEqual(await check.check(both, { a: 1 }, OWNER), { outcome: 'ok' })
    assert.deepEqual(await check.check({ type: 'colour' }, {}, OWNER), { outcome: 'undecided', why: 'schema' })
  })
})
