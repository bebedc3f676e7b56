import { resolve, type Schema } from '../clients/requests.ts'
import { fc } from './property.ts'

/**
 * Text that has broken something somewhere: quoting, full-text operators, wildcards, prototypes, halves of characters.
 */
const NASTY = [
  '',
  ' ',
  '\0',
  '\ud800',
  '\u202e\u0000',
  'a\nb',
  "'; drop table agents; --",
  '" OR ""="',
  '\\',
  '%',
  '_%_',
  '*',
  'NEAR("a" "b", 2)',
  'a AND NOT (b OR "',
  'col:x ^2 -y',
  '{"$gt":""}',
  '${7*7}{{secret.X}}',
  '__proto__',
  'constructor',
  'toString',
  '../../etc/passwd',
  '\u{1f6e5}\ufe0f',
  'ﷺ'.repeat(30),
  'a'.repeat(5000),
  '9'.repeat(400),
  '-1',
  '1e309',
  '9007199254740993',
  'null',
  'undefined',
  'NaN',
]

const TIMES = [
  '0000-01-01T00:00:00Z',
  '0000-01-01T00:00:00+23:59',
  '9999-12-31T23:59:59.999Z',
  '9999-12-31T23:59:59-23:59',
  '1969-12-31T23:59:59.999999999Z',
  '2024-02-30T00:00:00Z',
  '2024-02-29T24:00:00Z',
  '2024-01-01',
]

const SURROGATES = { from: 0xd800, count: 0x800 }

/** Every possible character. The library's unit `binary` does the same, but first builds a table of a million. */
export const anyCharacter = fc
  .nat(0x10ffff - SURROGATES.count)
  .map((code) => String.fromCodePoint(code < SURROGATES.from ? code : code + SURROGATES.count))

export const nastyText = fc.oneof(fc.constantFrom(...NASTY), fc.string({ unit: anyCharacter, maxLength: 40 }))

const anyJson = fc.jsonValue({ maxDepth: 2, stringUnit: anyCharacter })

/** Values that the schema describes. They may still fail checks that only the service can make. */
export function fitting(given: Schema, depth = 0): fc.Arbitrary<unknown> {
  if (depth > 5) return anyJson
  const schema = resolve(given)
  const inner = (other: Schema) => fitting(other, depth + 1)
  if ('const' in schema) return fc.constant(schema.const)
  if (Array.isArray(schema.enum)) return fc.constantFrom(...schema.enum)
  const variants = (schema.anyOf ?? schema.oneOf) as Schema[] | undefined
  if (variants) return fc.oneof(...variants.map(inner))
  if (schema.type === 'object') return fittingObject(schema, inner)
  if (schema.type === 'array') {
    return fc.array(inner((schema.items ?? {}) as Schema), { minLength: Number(schema.minItems ?? 0), maxLength: 3 })
  }
  if (schema.type === 'integer' || schema.type === 'number') return fittingNumber(schema)
  if (schema.type === 'boolean') return fc.boolean()
  if (schema.type === 'null') return fc.constant(null)
  return schema.type === 'string' ? fittingText(schema) : anyJson
}

/** The required fields and a few others. The more fields there are, the more likely the service finds one wrong. */
function fittingObject(schema: Schema, inner: (schema: Schema) => fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  const properties = (schema.properties ?? {}) as Record<string, Schema>
  const required = (schema.required ?? []) as string[]
  const optional = Object.keys(properties).filter((name) => !required.includes(name))
  const fields = new Map(Object.entries(properties).map(([name, field]) => [name, inner(field)]))
  const named = fc
    .subarray(optional, { maxLength: Math.min(3, optional.length) })
    .chain((chosen) =>
      fc.record(Object.fromEntries([...required, ...chosen].map((name) => [name, fields.get(name) ?? anyJson]))),
    )
  const others = schema.additionalProperties
  if (typeof others !== 'object' || others === null) return named
  const more = fc.dictionary(nastyText, inner(others as Schema), { maxKeys: 3 })
  return fc.tuple(more, named).map(([a, b]) => ({ ...a, ...b }))
}

function fittingNumber({ type, minimum, maximum }: Schema): fc.Arbitrary<number> {
  const min = Number(minimum ?? -1e6)
  const max = Number(maximum ?? Number.MAX_SAFE_INTEGER)
  if (type === 'integer') return fc.oneof(fc.integer({ min, max }), fc.constantFrom(min, max))
  return fc.oneof(fc.double({ min, max, noNaN: true }), fc.constantFrom(min, max, -0, 5e-324))
}

function fittingText({ format, pattern, minLength, maxLength }: Schema): fc.Arbitrary<string> {
  if (format === 'date-time') return fc.oneof(fc.constantFrom(...TIMES), fc.date({ noInvalidDate: true }).map(toText))
  // Text can't be generated from a pattern that looks ahead. Without that part, it rarely makes a difference.
  if (typeof pattern === 'string') return fc.stringMatching(new RegExp(pattern.replaceAll(/\(\?![^)]*\)/g, ''), 'u'))
  const length = { minLength: Number(minLength ?? 0), maxLength: Math.min(Number(maxLength ?? 60), 60) }
  return fc.oneof(fc.string({ unit: 'grapheme', ...length }), fc.string({ unit: anyCharacter, ...length }), nastyText)
}

const toText = (date: Date) => (date.getUTCFullYear() > 9999 ? 'later' : date.toISOString())

/** A fitting value with one mistake somewhere in it. */
export function breaking(schema: Schema): fc.Arbitrary<unknown> {
  return fc
    .tuple(fitting(schema), fc.nat(), fc.oneof(anyJson, nastyText), nastyText)
    .map(([value, at, other, name]) => {
      const places = [...placesIn(value)]
      const place = places[at % Math.max(1, places.length)]
      if (!place || at % 5 === 0) return other
      const { parent, key } = place
      if (at % 3 === 0) delete parent[key]
      else Object.defineProperty(parent, at % 3 === 1 ? key : name, { value: other, enumerable: true, writable: true })
      return value
    })
}

type Place = { parent: Record<string, unknown>; key: string }

function* placesIn(value: unknown): Generator<Place> {
  if (value === null || typeof value !== 'object') return
  for (const key of Object.keys(value)) {
    yield { parent: value as Record<string, unknown>, key }
    yield* placesIn((value as Record<string, unknown>)[key])
  }
}
