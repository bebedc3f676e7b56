import { z } from 'zod'
import { ApiError, type ErrorDetail, invalid } from '../../errors.ts'
import { plainIssue } from '../../lib/text/plain-issue.ts'

const MAX_DETAILS = 20
const INTEGER = /^-?(0|[1-9]\d{0,15})$/
const DECIMAL = /^-?\d{1,15}(\.\d{1,15})?$/
/**
 * For values with more parts than this, only the first error is reported, because each one takes up to 30 microseconds.
 */
const MANY_VALUES = 500
const ZODS_UNION = 'Invalid input'
const PLAINLY = { error: (issue: z.core.$ZodRawIssue) => plainIssue(issue) }
/** zod's own `validate` uses this to stop at the first wrong value; its types do not show it. */
const UNTIL_WRONG = { ...PLAINLY, abortEarly: true } as z.core.ParseContext<z.core.$ZodIssue>

/**
 * Returns the value in its shape, or throws a 400 that names every wrong field. If the value is large, it names only
 * the first one.
 */
export function validate<T extends z.ZodType>(shape: T, value: unknown): z.output<T> {
  const result = shape.safeParse(value, UNTIL_WRONG)
  if (result.success) return result.data
  const first = result.error
  throw refusalOf(holdsMore(value, MANY_VALUES) ? first : (shape.safeParse(value, PLAINLY).error ?? first), value)
}

function refusalOf({ issues }: z.ZodError, value: unknown): ApiError {
  const missing = issues.filter((issue) => isMissing(issue, value)).map((issue) => fieldOf(issue.path))
  const details = issues.flatMap((issue) => toDetails(issue, value)).slice(0, MAX_DETAILS)
  if (missing.length === 0) return invalid(...details)
  return new ApiError(
    'invalid_request',
    `Missing required parameter${missing.length > 1 ? 's' : ''}: ${missing.slice(0, MAX_DETAILS).join(', ')}`,
    { details },
  )
}

/**
 * Makes a strict reader of query strings from a shape. Numbers must be written in digits, so `1e2` and `0x10` are
 * refused, and `10.0` is refused for an integer.
 */
export function queryReader(shape: z.ZodObject): (raw: string) => Record<string, unknown> {
  // Both values are computed when they are first needed, so the service starts quickly. Most requests have no query.
  let ofNothing: Readonly<Record<string, unknown>> | undefined
  let numbers: ReadonlyMap<string, 'integer' | 'number'> | undefined
  return (raw) => {
    if (raw === '') return (ofNothing ??= Object.freeze(validate(shape, {})))
    numbers ??= numbersOf(shape)
    const values: Record<string, string | number> = {}
    for (const [name, text] of pairs(raw)) {
      const field = name.slice(0, 100)
      if (Object.hasOwn(values, field)) throw invalid({ field, error: 'appears more than once' })
      const type = numbers.get(field)
      if (type === 'integer' && !INTEGER.test(text)) throw invalid({ field, error: 'must be a whole number' })
      if (type === 'number' && !DECIMAL.test(text)) throw invalid({ field, error: 'must be a number' })
      // defineProperty makes a parameter named __proto__ an ordinary field, which is then refused as unknown.
      const value = type === undefined ? text : Number(text)
      Object.defineProperty(values, field, { value, enumerable: true })
    }
    return validate(shape, values)
  }
}

function numbersOf(shape: z.ZodObject): ReadonlyMap<string, 'integer' | 'number'> {
  const { properties = {} } = z.toJSONSchema(shape, { io: 'input' })
  const types = Object.entries(properties).map(([name, field]): [string, unknown] => [name, Object(field).type])
  return new Map(
    types.filter((entry): entry is [string, 'integer' | 'number'] => /^(integer|number)$/.test(`${entry[1]}`)),
  )
}

function pairs(raw: string): [string, string][] {
  // Clients that build queries by concatenation leave a trailing `&` or write `&&`.
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

/** Whether the value contains more values than that, including nested ones. */
function holdsMore(value: unknown, most: number): boolean {
  let count = 0
  const look = (inner: unknown): boolean => {
    if (++count > most) return true
    if (typeof inner !== 'object' || inner === null) return false
    return (Array.isArray(inner) ? inner : Object.values(inner)).some(look)
  }
  return look(value)
}

function toDetails(issue: z.core.$ZodIssue, value: unknown): ErrorDetail[] {
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.slice(0, MAX_DETAILS).map((key) => ({
      field: fieldOf([...issue.path, key.slice(0, 100)]),
      error: 'unknown field',
    }))
  }
  // zod's own message for a union is useless. The option that matched furthest has a better message.
  if (issue.code === 'invalid_union') {
    const options = issue.errors.map((errors) =>
      errors.map((inner) => ({ ...inner, path: [...issue.path, ...inner.path] })),
    )
    const [inside = []] = options.toSorted(
      (a, b) => depth(b, value) - depth(a, value) || mismatches(a, value) - mismatches(b, value),
    )
    const isWrongType = (inner: z.core.$ZodIssue) =>
      inner.code === 'invalid_type' && inner.path.length > issue.path.length
    const isMeant = !inside.some(
      (inner) => inner.code === 'unrecognized_keys' || isWrongType(inner) || isMissing(inner, value),
    )
    if (inside.length > 0 && (isMeant || issue.message === ZODS_UNION)) {
      return inside.flatMap((inner) => toDetails(inner, value))
    }
  }
  return [{ field: fieldOf(issue.path), error: isMissing(issue, value) ? 'is required' : issue.message }]
}

/** How deep the value was read before it was wrong. Missing or unknown fields don't count. */
function depth(issues: z.core.$ZodIssue[], value: unknown): number {
  const wrong = issues.filter((issue) => issue.code !== 'unrecognized_keys' && !isMissing(issue, value))
  return Math.max(0, ...wrong.map((issue) => issue.path.length))
}

/**
 * How many fields of the value and of an option don't match: the fields that the option doesn't know, and the fields
 * that it requires and the value lacks. 0 if the option knows all fields, because the value may then just be
 * incomplete.
 */
function mismatches(issues: z.core.$ZodIssue[], value: unknown): number {
  const unknown = issues.reduce((sum, issue) => sum + (issue.code === 'unrecognized_keys' ? issue.keys.length : 0), 0)
  return unknown === 0 ? 0 : unknown + issues.filter((issue) => isMissing(issue, value)).length
}

function isMissing(issue: z.core.$ZodIssue, value: unknown): boolean {
  // The error of our own rule about several fields is more helpful than that of a missing field.
  if (issue.path.length === 0 || issue.code === 'custom') return false
  let inner: unknown = value
  for (const step of issue.path) {
    if (inner === null || typeof inner !== 'object' || !Object.hasOwn(inner, step)) return true
    inner = (inner as Record<PropertyKey, unknown>)[step]
  }
  return inner === undefined
}

function fieldOf(path: PropertyKey[]): string {
  return path.map(String).join('.') || '(body)'
}
