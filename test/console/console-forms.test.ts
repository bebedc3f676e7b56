import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { changedFields, mergeChanges } from '../../console/lib/forms/merge-changes.ts'
import { numberIn } from '../../console/lib/forms/typed-values.ts'
import { DEFAULTS, withDefaults } from '../../console/pages/settings/definition.ts'
import { KINDS, parametersOf, schemaOf, withToolDefaults } from '../../console/pages/settings/tools/tool-kinds.ts'
import { DefinitionFields } from '../../src/agents/definition.ts'
import { Tools } from '../../src/runtime/spec.ts'

const LIMITS = { max_steps: 8, max_cost_per_run: null as number | null, max_tool_calls: null as number | null }

describe('changes in a form', () => {
  test('are merged into the current record, field by field', () => {
    const began = { limits: LIMITS, tools: ['a'], description: 'old' }
    const wanted = { ...began, limits: { ...LIMITS, max_tool_calls: 4 } }
    const now = { limits: { ...LIMITS, max_steps: 2, max_cost_per_run: 0.1 }, tools: [], description: 'new' }
    const { value, clashes } = mergeChanges(began, wanted, now)
    assert.deepEqual(value, { ...now, limits: { max_steps: 2, max_cost_per_run: 0.1, max_tool_calls: 4 } })
    assert.deepEqual(clashes, [])
    assert.deepEqual(changedFields(now, value), { limits: value.limits })
  })

  test('conflict once if someone else changed the same field, and can then be saved', () => {
    const began = { a: 1, list: [1], inside: { x: 1, y: 1 } as object | null }
    const wanted = { a: 2, list: [1, 2], inside: { x: 1, y: 2 } }
    const now = { a: 3, list: [1, 3], inside: null }
    const first = mergeChanges<typeof began>(began, wanted, now)
    assert.deepEqual(first.clashes, [
      { field: 'a', theirs: 3 },
      { field: 'list', theirs: [1, 3] },
      { field: 'inside', theirs: null },
    ])
    const second = mergeChanges<typeof began>(first.began, wanted, now)
    assert.deepEqual([second.clashes, second.value], [[], wanted])
  })

  test('do not conflict if both made the same change, and removed fields stay removed', () => {
    const { value, clashes } = mergeChanges<object>({ a: { x: 1, y: 1 } }, { a: { y: 2 } }, { a: { x: 1, y: 2, z: 3 } })
    assert.deepEqual([value, clashes], [{ a: { y: 2, z: 3 } }, []])
  })

  test('are saved exactly if no one else changed the record, and change nothing else', () => {
    const record = fc.jsonValue({ maxDepth: 3 })
    fc.assert(
      fc.property(record, record, (began, other) => {
        assert.deepEqual(mergeChanges<unknown>(began, other, began), { value: other, began, clashes: [] })
        assert.deepEqual(mergeChanges<unknown>(began, began, other), { value: other, began, clashes: [] })
      }),
    )
  })
})

test('a number is read as it is written; other text is left to the service', () => {
  const numbers = { '': null, ' ': null, '0': 0, '.05': 0.05, '0.': 0, ' 7 ': 7, '-1': -1, '1e3': 1000 }
  for (const [text, number] of Object.entries(numbers)) assert.equal(numberIn(text), number, text)
  for (const text of ['0.7.5', '.', '1..2', 'few', '0x1f', '1e999', '1,000']) assert.equal(numberIn(text), text)
})

describe("an agent's definition in YAML", () => {
  test('gets the defaults of a new agent for missing fields', () => {
    assert.deepEqual(DEFAULTS, { ...DefinitionFields.parse({}), security: null })
    const { limits, ...others } = withDefaults({ limits: { max_steps: 3 } })
    assert.deepEqual(limits, { ...DEFAULTS.limits, max_steps: 3 })
    const { limits: _limits, ...defaults } = DEFAULTS
    assert.deepEqual(others, defaults)
  })

  test("shows a tool with the service's defaults", () => {
    const needed = { http: { name: 'a', url: 'https://a.test/' }, mcp: { url: 'https://a.test/' } }
    for (const { type } of KINDS) {
      const said = { type, ...(type === 'agent' ? { name: 'a', agent: 'b' } : needed[type as 'http']) }
      assert.deepEqual(withToolDefaults(said as never), Tools.parse([said])[0])
    }
  })
})

describe("a tool's parameters as rows", () => {
  const type = fc.constantFrom('string', 'integer')
  const description = fc.constantFrom('', 'Description')
  const property = fc.oneof(
    { weight: 6, arbitrary: fc.record({ type, description }, { requiredKeys: ['type'], noNullPrototype: true }) },
    { weight: 1, arbitrary: fc.constantFrom({}, { type: 'array' }, { type: 'string', enum: ['a'] }, true) },
  )
  const schema = fc.record(
    {
      type: fc.constant('object'),
      properties: fc.dictionary(fc.constantFrom('a', 'b', 'c'), property, { noNullPrototype: true }),
      required: fc.uniqueArray(fc.constantFrom('c', 'b', 'a')),
      additionalProperties: fc.constantFrom(false, true, { type: 'string' }),
    },
    { requiredKeys: ['type'], noNullPrototype: true },
  )

  test('are only shown as rows if that loses nothing', () => {
    let shown = 0
    fc.assert(
      fc.property(schema, (given) => {
        const rows = parametersOf(given)
        if (!rows) return
        shown++
        assert.deepEqual(schemaOf(rows, given as never), given)
      }),
      { numRuns: 2_000 },
    )
    assert.ok(shown > 20, `${shown}`)
  })

  test('keep the rest of the schema when one row changes', () => {
    const given = {
      type: 'object' as const,
      properties: { q: { type: 'string' }, n: { type: 'integer', description: 'How many' } },
      required: ['n', 'q'],
      additionalProperties: false,
    }
    const [q, n] = parametersOf(given) ?? []
    assert.ok(q && n)
    assert.deepEqual(
      schemaOf(
        [
          { ...q, description: 'What to find' },
          { ...n, isRequired: false },
        ],
        given,
      ),
      {
        ...given,
        properties: { q: { type: 'string', description: 'What to find' }, n: given.properties.n },
        required: ['q'],
      },
    )
    for (const none of ['{"type": "object",}', null, ['a'], { type: 'object', anyOf: [] }]) {
      assert.equal(parametersOf(none), undefined)
    }
  })
})
