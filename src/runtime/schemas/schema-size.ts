import { isObject } from '../../lib/json.ts'

const MAX_VALUES = 5_000
const MAX_CHARACTERS = 256 * 1024
const MAX_DEPTH = 64

/** Says why a schema is too large, as the end of a sentence that starts with the schema's name. */
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
  if (values > MAX_VALUES) return `can contain at most ${MAX_VALUES} values, including nested ones`
  if (characters > MAX_CHARACTERS) return `can contain at most ${MAX_CHARACTERS / 1024} KiB of text`
  return `can be nested at most ${MAX_DEPTH} levels deep`
}
