import { parentPort } from 'node:worker_threads'
import { Ajv, type Options, type ValidateFunction } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { LRUCache } from 'lru-cache'
import { sentenceOf } from './schema-errors.ts'

/** Schema and value as JSON. */
export type CheckRequest = { schema: string; value: string; name: string }

export type CheckAnswer =
  | { outcome: 'ok' }
  | { outcome: 'errors'; errors: string[] }
  | { outcome: 'undecided'; why: 'schema' | 'time' }

const KEPT_SCHEMAS = 200
const MAX_ERRORS = 10

/** `format` is not checked: by the standard it describes a value, and servers read times and addresses in many ways. */
const OPTIONS: Options = {
  strict: false,
  allErrors: true,
  validateSchema: false,
  validateFormats: false,
  ownProperties: true,
  logger: false,
  unicodeRegExp: true,
}

type Compiled = ValidateFunction | 'unreadable'

if (parentPort) serve(parentPort)

function serve(port: NonNullable<typeof parentPort>): void {
  /** Compiled schemas by their text. */
  const compiled = new LRUCache<string, Compiled>({ max: KEPT_SCHEMAS })
  port.on('message', ({ schema, value, name }: CheckRequest) => {
    port.postMessage('taken')
    const validate = compiled.get(schema) ?? compile(JSON.parse(schema))
    compiled.set(schema, validate)
    port.postMessage(check(validate, JSON.parse(value), name) satisfies CheckAnswer)
  })
  port.postMessage('ready')
}

/** Schemas that say nothing are of 2020-12. Some are older all the same: then their tuples are not understood. */
function compile(schema: { $schema?: unknown }): Compiled {
  const { $schema: dialect, ...rest } = schema
  const drafts = /draft-0[67]/.test(String(dialect)) ? [Ajv, Ajv2020] : [Ajv2020, Ajv]
  for (const Draft of drafts) {
    try {
      return new Draft(OPTIONS).compile(rest)
    } catch {
      // The other draft may understand it.
    }
  }
  return 'unreadable'
}

function check(validate: Compiled, value: unknown, name: string): CheckAnswer {
  if (validate === 'unreadable') return { outcome: 'undecided', why: 'schema' }
  try {
    if (validate(value)) return { outcome: 'ok' }
  } catch {
    // References that form a circle overflow the stack.
    return { outcome: 'undecided', why: 'time' }
  }
  const errors = (validate.errors ?? []).slice(0, MAX_ERRORS).map((error) => sentenceOf(error, name))
  return { outcome: 'errors', errors }
}
