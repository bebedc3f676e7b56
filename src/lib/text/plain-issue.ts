import { z } from 'zod'
import { counted } from './counted.ts'

export type TypeNames = Readonly<Record<string, string>>

const JSON_TYPES: TypeNames = {
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
}

const FORMATS: Readonly<Record<string, string>> = { email: 'an email address', url: 'a URL', uuid: 'a UUID' }

/**
 * Describes an issue in the terms of JSON, because zod's own messages are for programmers and clients need to know what
 * the field must be.
 */
export function plainIssue(issue: z.core.$ZodRawIssue, types = JSON_TYPES): string | undefined {
  switch (issue.code) {
    case 'invalid_type':
      if (issue.input === undefined) return 'is required'
      return `must be ${types[isWhole(issue) ? 'int' : issue.expected] ?? issue.expected}`
    case 'invalid_value':
      return oneOf(issue.values)
    case 'invalid_union':
      // The alternatives have their own messages, except where a field says which of them is meant.
      return Array.isArray(issue['options']) ? oneOf(issue['options']) : undefined
    case 'invalid_format':
      return FORMATS[issue.format] && `must be ${FORMATS[issue.format]}`
    case 'invalid_key':
      return 'is not a valid name'
    case 'not_multiple_of':
      return `must be a multiple of ${issue.divisor}`
    case 'too_small':
      if (!isCounted(issue.origin))
        return `must be ${issue.inclusive === false ? 'more than' : 'at least'} ${issue.minimum}`
      return Number(issue.minimum) === 1
        ? 'must not be empty'
        : `must have at least ${counted(issue.minimum, unitOf(issue.origin))}`
    case 'too_big':
      return isCounted(issue.origin)
        ? `must have at most ${counted(issue.maximum, unitOf(issue.origin))}`
        : `must be ${issue.inclusive === false ? 'less than' : 'at most'} ${issue.maximum}`
    default:
      return undefined
  }
}

/** The first problem of a value, with its position. Undefined if the value fits the shape. */
export function problemIn(shape: z.ZodType, value: unknown): string | undefined {
  const [issue] = shape.safeParse(value, { error: (raw) => plainIssue(raw) }).error?.issues ?? []
  return issue && `${issue.path.join('.')} ${issue.message}`.trim()
}

function oneOf(values: readonly unknown[]): string {
  return values.length === 1 ? `must be ${values[0]}` : `must be one of ${values.join(', ')}`
}

const isCounted = (origin: string) => origin === 'string' || origin === 'array'

const unitOf = (origin: string) => (origin === 'string' ? 'character' : 'item')

/** If a value is text and a whole number is required, zod's message only says "expected number". */
function isWhole({ expected, inst }: z.core.$ZodRawIssue<z.core.$ZodIssueInvalidType>): boolean {
  return expected === 'number' && inst instanceof z.ZodNumber && inst.isInt
}
