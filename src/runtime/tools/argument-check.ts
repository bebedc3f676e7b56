import { setImmediate } from 'node:timers/promises'
import type { OutputUnit } from '@cfworker/json-schema'
import { lazily } from '../../lib/lazily.ts'
import { type CheckedSchema, schemaProblem, translate } from './input-schema.ts'
import { type Bulk, Meter, TooCostly } from './meter.ts'

/**
 * A check that costs more than the first limit gets a pass of the event loop for itself. The second limit keeps it
 * below 50 ms.
 */
const QUICK_UNITS = 500
const MOST_UNITS = 10_000

const TOO_COSTLY = 'they hold too much to be checked against the input_schema of this tool'

const validator = lazily<typeof import('@cfworker/json-schema')>('@cfworker/json-schema')

type Prepared = { problem: string } | (CheckedSchema & { meter: Meter })

/**
 * Checks the arguments that models write against the tools' schemas. Both come from strangers, so every check has a
 * limit.
 */
export class ArgumentCheck {
  readonly #prepared = new WeakMap<object, Prepared>()
  #last: Promise<unknown> = Promise.resolve()

  /** The first problem of the arguments, as a sentence for the model. */
  async problemOf(value: Record<string, unknown>, schema: object): Promise<string | undefined> {
    const prepared = this.#prepare(schema)
    if ('problem' in prepared) return prepared.problem
    try {
      return check(value, prepared, QUICK_UNITS)
    } catch (error) {
      if (!(error instanceof TooCostly)) throw error
    }
    // Everything that is ready in one pass of the event loop runs before anything else, so each pass gets one costly
    // check.
    this.#last = this.#last.then(() => setImmediate())
    await this.#last
    try {
      return check(value, prepared, MOST_UNITS)
    } catch (error) {
      if (error instanceof TooCostly) return TOO_COSTLY
      throw error
    }
  }

  #prepare(schema: object): Prepared {
    const known = this.#prepared.get(schema)
    if (known) return known
    const problem = schemaProblem(schema)
    const meter = new Meter()
    const prepared = problem
      ? { problem: `the input_schema of this tool ${problem}` }
      : { ...translate(schema, meter), meter }
    this.#prepared.set(schema, prepared)
    return prepared
  }
}

function check(value: unknown, { root, lookup, meter }: CheckedSchema & { meter: Meter }, units: number) {
  meter.start(units, bulkOf(value))
  try {
    const { valid, errors } = validator().validate(value, root, '2020-12', lookup)
    return valid ? undefined : sentence(errors)
  } catch (error) {
    // References that form a circle and consume nothing of the value overflow the stack.
    if (error instanceof RangeError) throw new TooCostly()
    throw error
  }
}

function bulkOf(value: unknown): Bulk {
  const bulk = { keys: 0, keyLength: 0, textLength: 0 }
  const look = (inner: unknown) => {
    if (typeof inner === 'string') bulk.textLength = Math.max(bulk.textLength, inner.length)
    if (Array.isArray(inner)) inner.forEach(look)
    else if (typeof inner === 'object' && inner !== null) {
      const entries = Object.entries(inner)
      bulk.keys = Math.max(bulk.keys, entries.length)
      for (const [key, held] of entries) {
        bulk.keyLength = Math.max(bulk.keyLength, key.length)
        look(held)
      }
    }
  }
  look(value)
  // `propertyNames` measures keys as texts.
  return { ...bulk, textLength: Math.max(bulk.textLength, bulk.keyLength) }
}

/** These errors only say that something inside failed. That is reported after them. */
const OUTER = new Set([
  '$ref',
  'properties',
  'items',
  'prefixItems',
  'additionalItems',
  'allOf',
  'anyOf',
  'oneOf',
  'if',
  'propertyNames',
  'dependentSchemas',
  'contains',
])

/** The validator's message for a schema that is `false`. We write such a schema as an empty `enum`. */
const NEVER_ALLOWED = 'Instance does not match any of [].'

function sentence(errors: OutputUnit[]): string {
  const { instanceLocation, error } = errors.find(({ keyword }) => !OUTER.has(keyword)) ?? (errors.at(-1) as OutputUnit)
  const path = instanceLocation
    .split('/')
    .slice(1)
    .map((part) => (/^\d+$/.test(part) ? `[${part}]` : `.${part.replaceAll('~1', '/').replaceAll('~0', '~')}`))
  const reason = error === NEVER_ALLOWED ? 'is not allowed' : error.slice(0, 500)
  return `arguments${path.join('')}: ${reason}`
}
