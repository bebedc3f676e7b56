import { resolve, type Schema } from '../clients/requests.ts'

/** Where a value is in a body: names of fields, and 0 for an element of a list. */
export type Path = readonly (string | number)[]

export type Place = { path: Path; sample: unknown; element: unknown }

const MOST_STEPS = 5

/** Every place that a schema describes, starting with the whole value. */
export function* placesOf(given: Schema, path: Path = []): Generator<Place> {
  if (path.length > MOST_STEPS) return
  const schema = resolve(given)
  const items = schema.type === 'array' ? ((schema.items ?? {}) as Schema) : undefined
  yield { path, sample: fitting(schema), element: items && fitting(items) }
  for (const variant of (schema.anyOf ?? schema.oneOf ?? schema.allOf ?? []) as Schema[]) {
    yield* [...placesOf(variant, path)].slice(1)
  }
  if (items) yield* placesOf(items, [...path, 0])
  const properties = Object.entries((schema.properties ?? {}) as Record<string, Schema>)
  for (const [name, inner] of properties) yield* placesOf(inner, [...path, name])
  if (typeof schema.additionalProperties === 'object' && schema.additionalProperties !== null) {
    yield* placesOf(schema.additionalProperties as Schema, [...path, 'k'])
  }
}

/** Every place in a body that is known to work. */
export function* placesIn(value: unknown, path: Path = []): Generator<Place> {
  yield { path, sample: value, element: Array.isArray(value) ? value[0] : undefined }
  if (Array.isArray(value)) yield* placesIn(value[0], [...path, 0])
  else if (typeof value === 'object' && value !== null) {
    for (const [name, inner] of Object.entries(value)) yield* placesIn(inner, [...path, name])
  }
}

/** The body with other JSON in one place. Missing parents are created. */
export function withJsonAt(body: unknown, path: Path, json: string): string {
  const mark = '(the nasty value)'
  return JSON.stringify(withAt(body, path, mark)).replace(JSON.stringify(mark), () => json)
}

function withAt(value: unknown, [step, ...rest]: Path, put: unknown): unknown {
  if (step === undefined) return put
  if (typeof step === 'number') {
    const list: unknown[] = Array.isArray(value) ? value : []
    return [withAt(list[0], rest, put), ...list.slice(1)]
  }
  return { ...Object(value), [step]: withAt(Object(value)[step], rest, put) }
}

/** A value of the schema with all its fields, as far as the schema determines them. */
function fitting(given: Schema, depth = 0): unknown {
  const schema = resolve(given)
  if ('const' in schema) return schema.const
  if ('default' in schema) return schema.default
  if (Array.isArray(schema.enum)) return schema.enum[0]
  const [variant] = (schema.anyOf ?? schema.oneOf ?? []) as Schema[]
  if (variant) return fitting(variant, depth)
  if (schema.type === 'object') {
    const fields = depth > MOST_STEPS ? [] : Object.entries((schema.properties ?? {}) as Record<string, Schema>)
    return Object.fromEntries(fields.map(([name, inner]) => [name, fitting(inner, depth + 1)]))
  }
  if (schema.type === 'array') return depth > MOST_STEPS ? [] : [fitting((schema.items ?? {}) as Schema, depth + 1)]
  if (schema.type === 'integer' || schema.type === 'number') return schema.minimum ?? 1
  return schema.type === 'boolean' ? true : 'sample'
}
