type Schema = Record<string, unknown>

export type ToolArguments = { value: Record<string, unknown> } | { problem: string; raw: string }

/** Deeper values overflow the stack where they are written out again. */
const MAX_DEPTH = 32
const MAX_ARGUMENT_CHARACTERS = 64 * 1024

/** What a model wrote as the arguments of a call. */
export function parseArguments(raw: string): ToolArguments {
  const excerpt = raw.slice(0, 200)
  if (raw.length > MAX_ARGUMENT_CHARACTERS) return { problem: 'The arguments are too long', raw: excerpt }
  try {
    const value: unknown = raw.trim() === '' ? {} : JSON.parse(raw)
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      return { problem: 'The arguments must be a JSON object', raw: excerpt }
    }
    if (isTooDeep(value)) return { problem: 'The arguments are nested too deeply', raw: excerpt }
    return { value: value as Schema }
  } catch {
    return { problem: 'The arguments are not valid JSON', raw: excerpt }
  }
}

/**
 * The first problem of `value` under a JSON Schema, as a sentence for the model.
 * Unknown keywords pass: the check exists to give a model useful feedback, and the server behind the tool has the last
 * word. `pattern` is left out on purpose: an expression from a foreign server could hang the process.
 */
export function argumentProblem(value: unknown, schema: unknown, path = 'arguments', depth = 0): string | undefined {
  if (depth > MAX_DEPTH) return undefined
  if (schema === false) return `${path} is not allowed`
  if (!isObject(schema)) return undefined
  return (
    typeProblem(value, schema, path) ??
    enumProblem(value, schema, path) ??
    sizeProblem(value, schema, path) ??
    combinationProblem(value, schema, path, depth) ??
    (Array.isArray(value) ? itemsProblem(value, schema, path, depth) : undefined) ??
    (isObject(value) ? propertiesProblem(value, schema, path, depth) : undefined)
  )
}

function isTooDeep(value: unknown, depth = 0): boolean {
  if (typeof value !== 'object' || value === null) return false
  return depth >= MAX_DEPTH || Object.values(value).some((inner) => isTooDeep(inner, depth + 1))
}

function typeProblem(value: unknown, { type }: Schema, path: string): string | undefined {
  const allowed = typeof type === 'string' ? [type] : Array.isArray(type) ? type : []
  if (allowed.length === 0 || allowed.some((name) => isOfType(value, name))) return undefined
  return `${path} must be ${allowed.join(' or ')}`
}

function isOfType(value: unknown, type: unknown): boolean {
  if (type === 'null') return value === null
  if (type === 'array') return Array.isArray(value)
  if (type === 'object') return isObject(value)
  if (type === 'integer') return Number.isInteger(value)
  return typeof value === type
}

function enumProblem(value: unknown, schema: Schema, path: string): string | undefined {
  if ('const' in schema && !isEqual(value, schema.const)) return `${path} must be ${JSON.stringify(schema.const)}`
  if (!Array.isArray(schema.enum) || schema.enum.some((option) => isEqual(value, option))) return undefined
  return `${path} must be one of ${JSON.stringify(schema.enum).slice(0, 500)}`
}

function isEqual(a: unknown, b: unknown): boolean {
  return a === b || JSON.stringify(a) === JSON.stringify(b)
}

function sizeProblem(value: unknown, schema: Schema, path: string): string | undefined {
  const below = (keyword: string, size: number) => typeof schema[keyword] === 'number' && size < schema[keyword]
  const above = (keyword: string, size: number) => typeof schema[keyword] === 'number' && size > schema[keyword]
  if (typeof value === 'number') {
    if (below('minimum', value)) return `${path} must be at least ${schema.minimum}`
    if (above('maximum', value)) return `${path} must be at most ${schema.maximum}`
    if (schema.exclusiveMinimum === value || below('exclusiveMinimum', value)) {
      return `${path} must be more than ${schema.exclusiveMinimum}`
    }
    if (schema.exclusiveMaximum === value || above('exclusiveMaximum', value)) {
      return `${path} must be less than ${schema.exclusiveMaximum}`
    }
  }
  if (typeof value === 'string') {
    const length = [...value].length
    if (below('minLength', length)) return `${path} must have at least ${schema.minLength} characters`
    if (above('maxLength', length)) return `${path} must have at most ${schema.maxLength} characters`
  }
  if (Array.isArray(value)) {
    if (below('minItems', value.length)) return `${path} must have at least ${schema.minItems} items`
    if (above('maxItems', value.length)) return `${path} must have at most ${schema.maxItems} items`
  }
  return undefined
}

function combinationProblem(value: unknown, schema: Schema, path: string, depth: number): string | undefined {
  for (const part of Array.isArray(schema.allOf) ? schema.allOf : []) {
    const problem = argumentProblem(value, part, path, depth + 1)
    if (problem) return problem
  }
  for (const choices of [schema.anyOf, schema.oneOf]) {
    if (!Array.isArray(choices) || choices.length === 0) continue
    const problems = choices.map((choice) => argumentProblem(value, choice, path, depth + 1))
    if (problems.every((problem) => problem !== undefined)) return problems[0]
  }
  return undefined
}

function itemsProblem(value: unknown[], schema: Schema, path: string, depth: number): string | undefined {
  for (const [index, item] of value.entries()) {
    const problem = argumentProblem(item, schema.items, `${path}[${index}]`, depth + 1)
    if (problem) return problem
  }
  return undefined
}

function propertiesProblem(value: Schema, schema: Schema, path: string, depth: number): string | undefined {
  const properties = isObject(schema.properties) ? schema.properties : {}
  for (const name of Array.isArray(schema.required) ? schema.required : []) {
    if (typeof name === 'string' && !Object.hasOwn(value, name)) return `${path}.${name} is missing`
  }
  for (const [name, inner] of Object.entries(value)) {
    const known = Object.hasOwn(properties, name)
    const problem = argumentProblem(
      inner,
      known ? properties[name] : schema.patternProperties ? true : schema.additionalProperties,
      `${path}.${name}`,
      depth + 1,
    )
    if (problem) return problem
  }
  return undefined
}

function isObject(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
