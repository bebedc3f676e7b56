import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, describe, test } from 'node:test'
import { SchemaCheck } from '../../src/runtime/schemas/schema-check.ts'

type Group = {
  file: string
  description: string
  schema: object | boolean
  tests: { description: string; data: unknown; valid: boolean }[]
}

/** Which files of the suite have cases that we do not pass, and how many. docs/structured-answers.md says why. */
const GAPS: Record<string, Record<string, number>> = {
  'draft2020-12': {
    dynamicRef: 30,
    enum: 6,
    properties: 1,
    ref: 8,
    refRemote: 31,
    unevaluatedItems: 12,
    unevaluatedProperties: 5,
    vocabulary: 1,
  },
  draft7: { properties: 1, ref: 3, refRemote: 23 },
}

const check = new SchemaCheck()
after(() => check.close())

/** The API takes schemas that are objects. */
const asObject = (schema: Group['schema']) => (typeof schema === 'boolean' ? { allOf: [schema] } : schema)

const MOST_TRIES = 3
/** Schemas whose references go round in circles: none of their cases is ever decided. */
const neverDecided = new Set<object>()

/** A machine that is too busy to decide in time says nothing about the schema: it is asked again. */
async function outcomeOf(schema: object, data: unknown, lane: string): Promise<string> {
  for (let tries = 0; tries < MOST_TRIES && !neverDecided.has(schema); tries++) {
    const answer = await check.check(schema, data, { lane })
    if (answer.outcome !== 'undecided' || answer.why !== 'time') return answer.outcome
  }
  neverDecided.add(schema)
  return 'undecided'
}

for (const draft of Object.keys(GAPS)) {
  describe(`JSON-Schema-Test-Suite, required, ${draft}`, () => {
    const text = readFileSync(new URL(`../fixtures/json-schema/${draft}.jsonl`, import.meta.url), 'utf8')
    const groups = text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Group)

    test('every case is decided as the suite says, except for those that are known', async () => {
      const failed: Record<string, number> = {}
      const named: string[] = []
      let passed = 0
      for (const { file, description, schema, tests } of groups) {
        const marked =
          draft === 'draft7'
            ? { $schema: 'http://json-schema.org/draft-07/schema#', ...asObject(schema) }
            : asObject(schema)
        for (const { description: what, data, valid } of tests) {
          const outcome = await outcomeOf(marked, data, file)
          if (outcome === (valid ? 'ok' : 'errors')) passed++
          else {
            failed[file] = (failed[file] ?? 0) + 1
            named.push(`${file}: ${description}: ${what} (${outcome})`)
          }
        }
      }
      const all = passed + named.length
      assert.deepEqual(failed, GAPS[draft], `${passed} of ${all} pass\n${named.join('\n')}`)
    })
  })
}
