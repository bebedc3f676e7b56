import { z } from 'zod'
import { invalid } from '../../errors.ts'
import { validate } from './validate.ts'

const INTEGER = /^-?(0|[1-9]\d{0,15})$/

/**
 * Makes a strict reader of query strings from a shape. An integer must be written as one: `1e2`, `0x10` and `10.0` are
 * refused.
 */
export function queryReader(shape: z.ZodObject): (raw: string) => Record<string, unknown> {
  // Both values are worked out when they are first needed, so that the service starts quickly. Most requests have no
  // query.
  let ofNothing: Readonly<Record<string, unknown>> | undefined
  let integers: ReadonlySet<string> | undefined
  return (raw) => {
    if (raw === '') return (ofNothing ??= Object.freeze(validate(shape, {})))
    integers ??= integersOf(shape)
    const values: Record<string, string | number> = {}
    for (const [name, text] of pairs(raw)) {
      const field = name.slice(0, 100)
      if (Object.hasOwn(values, field)) throw invalid({ field, error: 'is given more than once' })
      if (integers.has(field) && !INTEGER.test(text)) throw invalid({ field, error: 'must be a whole number' })
      // defineProperty, because a parameter named __proto__ must become an ordinary field. It is then refused as
      // unknown.
      const value = integers.has(field) ? Number(text) : text
      Object.defineProperty(values, field, { value, enumerable: true })
    }
    return validate(shape, values)
  }
}

function integersOf(shape: z.ZodObject): ReadonlySet<string> {
  const { properties = {} } = z.toJSONSchema(shape, { io: 'input' })
  const fields = Object.entries(properties)
  return new Set(fields.flatMap(([name, field]) => (Object(field).type === 'integer' ? [name] : [])))
}

function pairs(raw: string): [string, string][] {
  // A trailing `&`, or two of them, is what clients leave that put queries together.
  const given = raw.split('&').filter((pair) => pair !== '')
  return given.map((pair) => {
    const [name = '', ...rest] = pair.split('=')
    if (name === '') throw invalid({ field: '(query)', error: 'has a value without a name' })
    return [decode(name), decode(rest.join('='))]
  })
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    throw invalid({ field: text.slice(0, 100), error: 'is not valid percent-encoding' })
  }
}
