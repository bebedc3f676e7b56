import { parentPort } from 'node:worker_threads'
import { Ajv, type Options, type ValidateFunction } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { LRUCache } from 'lru-cache'
import { problemOf, type SchemaProblem } from './schema-errors.ts'

/** The schema and the value as JSON. Without a value, the schema itself is checked. */
export type CheckRequest = { schema: string; value?: string }

/** The check has started, when the thread had used this much processor time. */
export type TakenCheck = { taken_at_cpu_ms: number }

export type CheckAnswer =
  | { outcome: 'ok' }
  | { outcome: 'errors'; errors: SchemaProblem[] }
  | { outcome: 'undecided'; why: 'schema' | 'time' }

const SMALL_SCHEMA: object = { type: 'object', properties: { a: { type: 'string' } } }
const KEPT_SCHEMAS = 200
const MAX_ERRORS = 10
/** A value with deeper nesting may overflow the stack. */
const DEEP = 100

/**
 * `format` isn't checked. By the standard, it only describes a value, and servers read times and addresses in many
 * ways.
 */
const OPTIONS: Options = {
  strict: false,
  allErrors: true,
  validateSchema: false,
  validateFormats: false,
  ownProperties: true,
  logger: false,
  unicodeRegExp: true,
}

type CompiledSchema = ValidateFunction | 'unreadable'

if (parentPort) serve(parentPort)

function serve(port: NonNullable<typeof parentPort>): void {
  /** Compiled schemas by their text. */
  const compiled = new LRUCache<string, CompiledSchema>({ max: KEPT_SCHEMAS })
  port.on('message', ({ schema, value }: CheckRequest) => {
    if (value === undefined) {
      // Loading the meta-schema takes a while the first time, which must not count against this schema.
      warmUp(JSON.parse(schema))
      port.postMessage(taken())
      return port.postMessage(review(JSON.parse(schema)) satisfies CheckAnswer)
    }
    port.postMessage(taken())
    const validate = compiled.get(schema) ?? compile(JSON.parse(schema))
    compiled.set(schema, validate)
    port.postMessage(check(validate, JSON.parse(value)) satisfies CheckAnswer)
  })
  // The first compilation takes longer than others, which must not count against a client's schema.
  compile(SMALL_SCHEMA)
  port.postMessage('ready')
}

function taken(): TakenCheck {
  const { user, system } = process.threadCpuUsage()
  return { taken_at_cpu_ms: (user + system) / 1_000 }
}

type Draft = typeof Ajv | typeof Ajv2020

/** Schemas without `$schema` are treated as 2020-12. */
function draftsOf(schema: { $schema?: unknown }): [Draft, Draft] {
  return /draft-0[67]/.test(String(schema.$schema)) ? [Ajv, Ajv2020] : [Ajv2020, Ajv]
}

/**
 * Compiles a schema with the draft that it names, or else with the other one, because some schemas are older than they
 * claim and their tuples wouldn't be understood.
 */
function compile(schema: { $schema?: unknown }): CompiledSchema {
  const { $schema: _dialect, ...rest } = schema
  for (const Draft of draftsOf(schema)) {
    try {
      return new Draft(OPTIONS).compile(rest)
    } catch (error) {
      // Nested references can overflow the stack. That takes long, and the other draft would fail the same way.
      if (error instanceof RangeError) break
      // The other draft may understand the schema.
    }
  }
  return 'unreadable'
}

/** The validator that knows each draft's meta-schema. */
const reviewers = new Map<Draft, Ajv>()

function warmUp(schema: { $schema?: unknown }): Ajv {
  const [Draft] = draftsOf(schema)
  const known = reviewers.get(Draft)
  if (known) return known
  const reviewer = new Draft(OPTIONS)
  reviewer.validateSchema({})
  reviewers.set(Draft, reviewer)
  return reviewer
}

function review(schema: { $schema?: unknown }): CheckAnswer {
  const [Draft] = draftsOf(schema)
  const { $schema: _dialect, ...rest } = schema
  // An Ajv instance keeps everything that it compiles, so each schema gets its own instance.
  const errors = reviewSchema(rest, warmUp(schema), new Draft(OPTIONS)).slice(0, MAX_ERRORS)
  return errors.length === 0 ? { outcome: 'ok' } : { outcome: 'errors', errors }
}

function check(validate: CompiledSchema, value: unknown): CheckAnswer {
  if (validate === 'unreadable') return { outcome: 'undecided', why: 'schema' }
  try {
    if (validate(value)) return { outcome: 'ok' }
  } catch {
    // Circular references overflow the stack with any value, other schemas only with a deeply nested value.
    if (isDeep(value))
      return { outcome: 'errors', errors: [{ at: '', problem: `must be nested at most ${DEEP} levels deep` }] }
    return { outcome: 'undecided', why: 'schema' }
  }
  return { outcome: 'errors', errors: (validate.errors ?? []).slice(0, MAX_ERRORS).map(problemOf) }
}

function isDeep(value: unknown): boolean {
  let level = [value]
  for (let depth = 0; depth < DEEP; depth++) {
    level = level.flatMap((one) => (typeof one === 'object' && one !== null ? Object.values(one) : []))
    if (level.length === 0) return false
  }
  return true
}

/** What is wrong with a schema itself, and where. */
function reviewSchema(
  schema: object,
  reviewer: Pick<Ajv, 'errors' | 'validateSchema'>,
  compiler: Pick<Ajv, 'compile'>,
): SchemaProblem[] {
  if (!reviewer.validateSchema(schema)) return deepest((reviewer.errors ?? []).map(problemOf))
  const patterns = find(schema, (key, value) => key === 'pattern' && typeof value === 'string' && !isPattern(value))
  if (patterns.length > 0)
    return patterns.map((at) => ({ at, problem: 'must be a valid regular expression (Unicode)' }))
  try {
    compiler.compile(schema)
    return []
  } catch (error) {
    return [compileProblem(schema, error as Error & { missingRef?: string })]
  }
}

/**
 * Keeps one problem per position. The meta-schema has alternatives, and reports an error for each one that doesn't fit.
 */
function deepest(problems: SchemaProblem[]): SchemaProblem[] {
  const found = new Map<string, SchemaProblem>()
  for (const problem of problems) if (!found.has(problem.at)) found.set(problem.at, problem)
  const places = [...found.keys()]
  return [...found.values()].filter(({ at }) => !places.some((other) => other.startsWith(`${at}/`)))
}

function compileProblem(schema: object, { message, missingRef }: Error & { missingRef?: string }): SchemaProblem {
  if (missingRef === undefined) return { at: '', problem: `can't be used: ${message.slice(0, 300)}` }
  const [at = ''] = find(
    schema,
    (key, value) => key === '$ref' && typeof value === 'string' && isEnd(missingRef, value),
  )
  return { at, problem: `refers to ${missingRef.slice(0, 200)}, which is not in the schema` }
}

/** The resolved reference may start with the schema's ID. */
function isEnd(resolved: string, written: string): boolean {
  return resolved.endsWith(written)
}

function isPattern(text: string): boolean {
  try {
    return new RegExp(text, 'u').unicode
  } catch {
    return false
  }
}

/** Pointers to the members of a value that pass the test. */
function find(value: unknown, isFound: (key: string, value: unknown) => boolean, at = ''): string[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) => {
    const here = `${at}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`
    return isFound(key, inner) ? [here] : find(inner, isFound, here)
  })
}
