import { isObject } from '../../lib/json.ts'

type Schema = Record<string, unknown>

/** Keywords whose value is one schema, a list of schemas, or schemas by name. */
const ONE = new Set(['items', 'contains', 'not', 'additionalProperties', 'if', 'then', 'else', 'propertyNames'])
const LISTS = new Set(['anyOf', 'allOf', 'oneOf', 'prefixItems'])
const NAMED = new Set(['properties', '$defs', 'definitions', 'patternProperties', 'dependentSchemas'])

/** Whether every object that the schema describes is closed: it can contain only its named properties. */
export function isClosed(schema: Schema): boolean {
  return everySchema(schema, (one) => !describesObject(one) || one['additionalProperties'] === false)
}

/** Whether OpenAI's strict mode accepts the schema: all objects are closed, and all their properties are required. */
export function allowsStrict(schema: Schema): boolean {
  const areAllRequired = ({ properties = {}, required = [] }: Schema) =>
    Object.keys(properties as object).every((name) => (required as unknown[]).includes(name))
  return schema['type'] === 'object' && isClosed(schema) && everySchema(schema, areAllRequired)
}

/** The schema without the limits that Anthropic refuses. The answer is checked against the full schema afterwards. */
export function withoutLimits(schema: Schema): Schema {
  return mapSchemas(schema, (one) => {
    const kept = Object.entries(one).filter(([key]) => !LIMITS.has(key))
    return Object.fromEntries(kept)
  })
}

const LIMITS = new Set([
  '$schema',
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'multipleOf',
  'minLength',
  'maxLength',
  'minItems',
  'maxItems',
  'uniqueItems',
  'minProperties',
  'maxProperties',
])

function describesObject({ type, properties }: Schema): boolean {
  return type === 'object' || (Array.isArray(type) && type.includes('object')) || properties !== undefined
}

function everySchema(schema: Schema, holds: (schema: Schema) => boolean): boolean {
  let all = true
  mapSchemas(schema, (one) => {
    all &&= holds(one)
    return one
  })
  return all
}

/** Applies a change to the schema and every schema inside it, the inner ones first. */
function mapSchemas(schema: Schema, change: (schema: Schema) => Schema): Schema {
  const inner = (value: unknown) => (isObject(value) ? mapSchemas(value, change) : value)
  const mapped = Object.entries(schema).map(([key, value]) => {
    if (ONE.has(key)) return [key, inner(value)]
    if (LISTS.has(key) && Array.isArray(value)) return [key, value.map(inner)]
    if (!NAMED.has(key) || !isObject(value)) return [key, value]
    return [key, Object.fromEntries(Object.entries(value).map(([name, one]) => [name, inner(one)]))]
  })
  return change(Object.fromEntries(mapped))
}
