import type { Schema } from '@cfworker/json-schema'
import { type Meter, Metered } from './meter.ts'

const MAX_VALUES = 5_000
const MAX_CHARACTERS = 256 * 1024
const MAX_DEPTH = 64

/** Says why a schema is too large, as the end of a sentence that begins with its name. */
export function schemaProblem(schema: unknown): string | undefined {
  let values = 0
  let characters = 0
  const fits = (value: unknown, depth: number): boolean => {
    values += 1
    if (typeof value === 'string') characters += value.length
    if (values > MAX_VALUES || characters > MAX_CHARACTERS || depth > MAX_DEPTH) return false
    if (Array.isArray(value)) return value.every((inner) => fits(inner, depth + 1))
    if (!isObject(value)) return true
    return Object.entries(value).every(([key, inner]) => {
      characters += key.length
      return fits(inner, depth + 1)
    })
  }
  if (fits(schema, 0)) return undefined
  if (values > MAX_VALUES) return `may hold at most ${MAX_VALUES} values, nested ones included`
  if (characters > MAX_CHARACTERS) return `may hold at most ${MAX_CHARACTERS / 1024} KiB of text`
  return `may be nested at most ${MAX_DEPTH} deep`
}

/** A schema in the form of the validator. References are looked up by name. */
export type CheckedSchema = { root: Schema; lookup: Record<string, Schema> }

/**
 * Translates a tool's schema for the validator. Only keywords whose cost is known are kept, and each step of a check is
 * metered. Leaving out a keyword allows more values. Under `not` and similar keywords it would refuse more, so a schema
 * with left-out keywords is translated again without those.
 */
export function translate(schema: unknown, meter: Meter): CheckedSchema {
  const exact = new Translation(schema, meter, true)
  const translated = exact.translate()
  return exact.hasGaps ? new Translation(schema, meter, false).translate() : translated
}

type Json = Record<string, unknown>

/**
 * Keywords that restrict a value but are not checked. A regular expression (`pattern`) from a stranger could run for
 * ever.
 */
const UNCHECKED = new Set([
  'pattern',
  'patternProperties',
  'uniqueItems',
  'unevaluatedProperties',
  'unevaluatedItems',
  'dependencies',
  '$dynamicRef',
  '$recursiveRef',
])
const NEGATIVE = new Set(['not', 'if', 'then', 'else', 'maxContains'])

const ONE_SCHEMA = new Set([
  'additionalProperties',
  'propertyNames',
  'items',
  'additionalItems',
  'contains',
  'not',
  'if',
  'then',
  'else',
])
const SCHEMA_LIST = new Set(['anyOf', 'allOf', 'oneOf', 'prefixItems', 'items'])
const SCHEMA_MAP = new Set(['properties', 'dependentSchemas'])

const TYPES = new Set<unknown>(['null', 'boolean', 'object', 'array', 'number', 'integer', 'string'])
const isNumber = (value: unknown) => typeof value === 'number'
const isNames = (value: unknown) => Array.isArray(value) && value.every((name) => typeof name === 'string')
const isScalar = (value: unknown) => typeof value !== 'object' || value === null

/** Keywords that are kept as they are, and the check of their value. */
const PLAIN = new Map<string, (value: unknown) => boolean>([
  ['type', (value) => [value].flat().length > 0 && [value].flat().every((type) => TYPES.has(type))],
  // Objects and lists would be compared in full with a value.
  ['const', isScalar],
  ['enum', (value) => Array.isArray(value) && value.every(isScalar)],
  ['required', isNames],
  ['dependentRequired', (value) => isObject(value) && Object.values(value).every(isNames)],
  ...['minProperties', 'maxProperties', 'minItems', 'maxItems', 'minContains', 'maxContains', 'minLength', 'maxLength']
    .concat('minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf')
    .map((name): [string, typeof isNumber] => [name, isNumber]),
])

class Translation {
  /** Whether a keyword that restricts values was left out. */
  hasGaps = false
  readonly #document: unknown
  readonly #meter: Meter
  readonly #isExact: boolean
  /** The targets of references, with their names. */
  readonly #names = new Map<unknown, string>()
  /** Each part of the document is translated once, however many references point to it. */
  readonly #made = new Map<unknown, Schema>()

  constructor(document: unknown, meter: Meter, isExact: boolean) {
    this.#document = document
    this.#meter = meter
    this.#isExact = isExact
  }

  translate(): CheckedSchema {
    const root = this.#schemaOf(this.#document)
    const lookup: Record<string, Schema> = {}
    // The map grows during the loop, because the targets may contain references too.
    for (const [target, name] of this.#names) lookup[name] = this.#schemaOf(target)
    return { root, lookup }
  }

  #schemaOf(source: unknown): Schema {
    if (!isObject(source)) return this.#make(source)
    const made = this.#made.get(source) ?? this.#make(source)
    this.#made.set(source, made)
    return made
  }

  #make(source: unknown): Schema {
    // Not written as a boolean: the validator would answer without reading a keyword, and each evaluation must be
    // counted.
    if (source === false) return this.#metered({ enum: [] })
    if (!isObject(source)) return this.#metered({})
    const keywords: Json = {}
    for (const [key, value] of Object.entries(source)) {
      const taken = this.#isExact || !NEGATIVE.has(key) ? this.#valueOf(key, value) : undefined
      if (taken !== undefined) keywords[key] = taken
    }
    if (Object.hasOwn(source, 'patternProperties')) delete keywords.additionalProperties
    if (!this.#isExact && Array.isArray(keywords.oneOf)) {
      const { oneOf: anyOf, allOf = [] } = keywords
      delete keywords.oneOf
      keywords.allOf = [...(allOf as Schema[]), this.#metered({ anyOf })]
    }
    return this.#metered(keywords)
  }

  /** Undefined for a keyword that is left out. */
  #valueOf(key: string, value: unknown): unknown {
    if (key === '$ref') return this.#refer(value)
    if (SCHEMA_LIST.has(key) && Array.isArray(value)) return value.map((inner) => this.#schemaOf(inner))
    if (ONE_SCHEMA.has(key)) return this.#schemaOf(value)
    if (SCHEMA_MAP.has(key) && isObject(value)) {
      return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, this.#schemaOf(inner)]))
    }
    if (PLAIN.get(key)?.(value)) return value
    this.hasGaps ||= UNCHECKED.has(key) || PLAIN.has(key) || SCHEMA_LIST.has(key) || SCHEMA_MAP.has(key)
    return undefined
  }

  /** The name of a reference's target. Only references inside the schema are followed. */
  #refer(ref: unknown): string | undefined {
    const target = resolvePointer(this.#document, ref)
    if (target === undefined) {
      this.hasGaps = true
      return undefined
    }
    const known = this.#names.get(target)
    if (known !== undefined) return known
    const name = `#${this.#names.size}`
    this.#names.set(target, name)
    return name
  }

  #metered(keywords: Json): Schema {
    return Object.assign(new Metered(this.#meter, keywords), keywords) as object
  }
}

/** Follows `#/$defs/name`. */
function resolvePointer(document: unknown, ref: unknown): unknown {
  if (typeof ref !== 'string' || !/^#($|\/)/.test(ref)) return undefined
  let found = document
  for (const part of ref.split('/').slice(1)) {
    const key = decode(part).replaceAll('~1', '/').replaceAll('~0', '~')
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, key)) return undefined
    found = (found as Json)[key]
  }
  return found
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
