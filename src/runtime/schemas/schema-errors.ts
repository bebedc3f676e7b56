import type { ErrorObject } from 'ajv'

const MAX_CHARACTERS = 500

/** What is wrong, and where: `at` is a JSON pointer. */
export type SchemaProblem = { at: string; problem: string }

export function problemOf({ instancePath, keyword, params, message = keyword }: ErrorObject): SchemaProblem {
  const { additionalProperty, unevaluatedProperty, propertyName, allowedValues, allowedValue } = params
  const named = additionalProperty ?? unevaluatedProperty ?? propertyName ?? allowedValues ?? allowedValue
  const detail = named === undefined ? '' : `: ${JSON.stringify(named)}`
  return { at: instancePath.slice(0, MAX_CHARACTERS), problem: `${message}${detail}`.slice(0, MAX_CHARACTERS) }
}

/** For a model or a person: `arguments.days: must be >= 1`. `name` stands for the value. */
export function sentenceOf({ at, problem }: SchemaProblem, name: string): string {
  const path = keysOf(at).map((key) => (/^\d+$/.test(key) ? `[${key}]` : `.${key}`))
  return `${name}${path.join('')}: ${problem}`.slice(0, MAX_CHARACTERS)
}

/** The keys and positions of a JSON pointer. */
export function keysOf(pointer: string): string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'))
}
