import { z } from 'zod'
import { invalid } from '../../errors.ts'
import { validate } from './validate.ts'

const INTEGER = /^-?(0|[1-9]\d{0,15})$/

/**
 * Makes a strict reader of query strings out of a shape. A field that the shape calls an integer is one only when it is
 * written as one: `1e2`, `0x10` and `10.0` are not.
 */
export function queryReader(shape: z.ZodObject): (raw: string) => Record<string, unknown> {
  const { properties = {} } = z.toJSONSchema(shape, { io: 'input' })
  const integers = new Set(
    Object.entries(properties).flatMap(([name, field]) =>
      typeof field === 'object' && field.type === 'integer' ? [name] : [],
    ),
  )
  return (raw) => {
    const values: Record<string, string | number> = {}
    for (const [name, text] of pairs(raw)) {
      const field = name.slice(0, 100)
      if (Object.hasOwn(values, field)) throw invalid({ field, error: 'is given more than once' })
      if (integers.has(field) && !INTEGER.test(text)) throw invalid({ field, error: 'must be a whole number' })
      // defineProperty: a parameter named __proto__ must become a field like any other, so that it is refused as unknown.
      const value = integers.has(field) ? Number(text) : text
      Object.defineProperty(values, field, { value, enumerable: true })
    }
    return validate(shape, values)
  }
}

function pairs(raw: string): [string, string][] {
  if (raw === '') return []
  return raw.split('&').map((pair) => {
    const [name = '', ...rest] = pair.split('=')
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
