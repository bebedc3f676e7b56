import type { ErrorObject } from 'ajv'
import { counted } from '../../lib/text/counted.ts'

const MAX_CHARACTERS = 500

/** What is wrong, and where: `at` is a JSON pointer. */
export type SchemaProblem = { at: string; problem: string }

export function problemOf(error: ErrorObject): SchemaProblem {
  const { instancePath, keyword, message = keyword } = error
  return {
    at: instancePath.slice(0, MAX_CHARACTERS),
    problem: (plainProblem(error) ?? message).slice(0, MAX_CHARACTERS),
  }
}

const TYPES: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  integer: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
}

/** Describes the problem for people and models, because the library's messages are for programmers. */
function plainProblem({ keyword, params }: ErrorObject): string | undefined {
  const json = (value: unknown) => JSON.stringify(value)
  switch (keyword) {
    case 'type':
      return `must be ${[params['type']]
        .flat()
        .map((type: string) => TYPES[type] ?? type)
        .join(' or ')}`
    case 'required':
      return `must have the property ${json(params['missingProperty'])}`
    case 'additionalProperties':
    case 'unevaluatedProperties':
      return `must not have the property ${json(params['additionalProperty'] ?? params['unevaluatedProperty'])}`
    case 'propertyNames':
      return `has a property name that is not allowed: ${json(params['propertyName'])}`
    case 'enum':
      return `must be one of ${params['allowedValues'].map(json).join(', ')}`
    case 'const':
      return `must be ${json(params['allowedValue'])}`
    case 'minimum':
      return `must be at least ${params['limit']}`
    case 'maximum':
      return `must be at most ${params['limit']}`
    case 'exclusiveMinimum':
      return `must be more than ${params['limit']}`
    case 'exclusiveMaximum':
      return `must be less than ${params['limit']}`
    case 'minLength':
      return `must have at least ${counted(params['limit'], 'character')}`
    case 'maxLength':
      return `must have at most ${counted(params['limit'], 'character')}`
    case 'minItems':
      return `must have at least ${counted(params['limit'], 'item')}`
    case 'maxItems':
    case 'items':
    case 'additionalItems':
      return `must have at most ${counted(params['limit'], 'item')}`
    case 'uniqueItems':
      return 'must not contain duplicate items'
    default:
      return undefined
  }
}

/**
 * The problem as a sentence for a model or a person: `arguments.days: must be at least 1`. `name` is the value's name.
 */
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
